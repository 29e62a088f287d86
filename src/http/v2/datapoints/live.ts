// Server-sent events of a device (contract 10), for browsers: datapoints as they are committed. The token is in the
// Authorization header as everywhere, so pages read private devices by fetch; EventSource cannot send the header and
// reads public ones as guest.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { limits } from '../../../config/limits.ts';
import type { LiveEvent, ResumePoint } from '../../../domain/live/live-event.ts';
import { setEventHeaders } from '../../lists/event-streams.ts';
import { nothing } from '../../lists/row-streams.ts';
import { sendEvents } from '../../lists/sent-events.ts';
import { DeviceParams } from '../../schemas/device-schemas.ts';
import { toDatapointRecord } from '../../schemas/records.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { overload, refusals, type TypedApp, tooManyStreams } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const exampleEvent =
  'id: 4711\nevent: datapoint\ndata: {"device_id":"field-3","sensor_id":"TC","value":21.5,"timestamp":"2016-06-08T18:20:27Z","date_received":"2016-06-08T18:20:28Z"}\n\n';

export function registerLive(app: TypedApp, { live }: Services): void {
  app.addHook('preClose', (done) => {
    live.close();
    done();
  });

  app.get(
    '/devices/:device/live',
    {
      schema: {
        tags: ['Datapoints'],
        operationId: 'followDevice',
        summary: 'Follow a device live',
        description:
          'Server-sent events: `datapoint` for each datapoint and `actuator` for each setting of an actuator, once it is committed. The right to see the values is asked for at each delivery; `end` says why a stream ends: the token has expired, the right or the device is gone, the reader is too slow, the service stops. With `Last-Event-ID` what came in the meantime is sent first, up to 1000 datapoints; `gap` says that there were more. A comment every 15 seconds is a sign of life. `EventSource` sends no token and follows public devices; for private ones use fetch with the `Authorization` header.',
        params: DeviceParams,
        querystring: Type.Object({
          calibrated: Type.Boolean({ default: true, description: 'False sends the raw values.' }),
        }),
        headers: Type.Object({
          'last-event-id': Type.Optional(
            boundedText(limits.headerTextCharsMax, {
              description: 'The id of the last event received: what was missed since is sent first.',
            }),
          ),
        }),
        response: {
          200: {
            description: 'Events, until either side ends the stream.',
            content: {
              'text/event-stream': {
                schema: Type.String({ description: 'Server-sent events (HTML standard).', examples: [exampleEvent] }),
              },
            },
          },
          ...refusals,
          ...tooManyStreams,
          503: overload[503],
        },
      },
    },
    async (request, reply) => {
      const { device } = request.params;
      const actorNow = () => request.actorNow();
      setEventHeaders(reply as never);
      if (request.method === 'HEAD') {
        await live.permit({ device, actorNow });
        return reply.send(nothing() as never);
      }
      const stream = await live.open({
        device,
        actorNow,
        calibrated: request.query.calibrated,
        last: lastHad(request),
      });
      const textOf = (event: LiveEvent) => eventText(event, device);
      return sendEvents(request as never, reply as never, { stream, textOf }) as never;
    },
  );
}

/** An id of another form is no position. Ids of earlier releases lack the time of receiving. */
function lastHad(request: FastifyRequest): ResumePoint | undefined {
  const id = String(request.headers['last-event-id'] ?? '');
  const [, seq, receivedMs] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(id) ?? [];
  if (seq === undefined) return undefined;
  return { seq: Number(seq), receivedMs: receivedMs === undefined ? undefined : Number(receivedMs) };
}

function eventText(event: LiveEvent, device: string): string {
  if (event.kind === 'end') return `event: end\ndata: ${JSON.stringify({ reason: event.reason })}\n\n`;
  if (event.kind === 'gap') return 'event: gap\ndata: {}\n\n';
  if (event.kind === 'actuator') {
    const place = JSON.stringify({ device_id: device, actuator_id: event.actuator });
    return `event: actuator\ndata: ${place.slice(0, -1)},"value":${event.valueJson}}\n\n`;
  }
  const { sensor, point } = event;
  const data = { device_id: device, sensor_id: sensor, ...toDatapointRecord(point) };
  return `id: ${point.seq ?? 0}-${point.receivedMs}\nevent: datapoint\ndata: ${JSON.stringify(data)}\n\n`;
}
