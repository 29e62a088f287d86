// Alarms (contract: `GET /api/v2/alarms`): what is wrong now and was, for whoever may see it, and what people do about it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { Alarm } from '../../domain/alarms/alarm.ts';
import type { AlarmCursor, AlarmFilter } from '../../domain/alarms/alarm-store.ts';
import type { AlarmEvent } from '../../domain/alarms/alarm-stream.ts';
import type { AlarmPage } from '../../domain/alarms/alarms.ts';
import { setEventHeaders } from '../lists/event-streams.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { nothing } from '../lists/row-streams.ts';
import { sendEvents } from '../lists/sent-events.ts';
import {
  AcknowledgementBody,
  AlarmKindSchema,
  AlarmParams,
  AlarmSchema,
  AssignmentBody,
  SnoozeBody,
} from '../schemas/alarm-schemas.ts';
import { DeviceIdSchema, DeviceParams } from '../schemas/device-schemas.ts';
import { GatewayIdSchema } from '../schemas/gateway-schemas.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { answerDone } from '../server/preference.ts';
import { overload, pageOf, recordPage, refusals, type TypedApp, tooManyStreams, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { parseTimeField } from './field-values.ts';

const tags = ['Alarms'];
const forWhom =
  'For owners, admins and whoever has a share that shows the values; it takes a login. Names, unit, position and gateway of a device are for those who may view the device. Being public shows no alarms. An alarm of a notification whose author may not change the device is for its author and admins alone.';
const whoMay =
  'For the owner, admins and shares with the right to change the device or gateway; an alarm of your own notification always.';

const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const listQuery = {
  state: Type.Unsafe<'active' | 'cleared' | 'all'>({
    type: 'string',
    enum: ['active', 'cleared', 'all'],
    default: 'active',
    description: '`active`: what is wrong now. `cleared`: what was. `all`: both.',
    examples: ['active'],
  }),
  acknowledged: flag('Only those that somebody has acknowledged, or with `false` the others.'),
  snoozed: flag('Only those that are snoozed now, or with `false` the others.'),
  kind: Type.Optional(AlarmKindSchema),
};

export function registerAlarms(app: TypedApp, services: Services): void {
  registerLists(app, services);
  registerHandling(app, services);
  registerStream(app, services);
}

function registerLists(app: TypedApp, { alarms }: Services): void {
  const page = pageOf(AlarmSchema, { description: 'A page of alarms.', counted: true });

  app.get(
    '/alarms',
    {
      schema: {
        tags,
        operationId: 'listAlarms',
        summary: 'List alarms',
        description: `Newest first. ${forWhom}`,
        querystring: Type.Object({
          ...listQuery,
          device: Type.Optional(DeviceIdSchema),
          gateway: Type.Optional(GatewayIdSchema),
          assigned_to: Type.Optional(
            boundedText(limits.knownUsernameCharsMax, {
              description: 'Only those that are assigned to this user.',
              examples: ['awa'],
            }),
          ),
          ...recordPage('Alarms'),
        }),
        response: { 200: page, ...refusals },
      },
    },
    async (request, reply) => {
      const { device, gateway, assigned_to: assignee, ...query } = request.query;
      const filter = { ...filterOf(query), device, gateway, assignee };
      return sendPage(
        request,
        reply as never,
        query,
        await alarms.list(request.actor, { ...filter, ...pageFor(query) }),
      );
    },
  );

  app.get(
    '/devices/:device/alarms',
    {
      schema: {
        tags,
        operationId: 'listDeviceAlarms',
        summary: 'List the alarms of a device',
        description: `Newest first; what is over is kept for ${limits.alarmHistoryDays} days, the last ${limits.alarmsPerDeviceMax} of a device. ${forWhom}`,
        params: DeviceParams,
        querystring: Type.Object({
          ...listQuery,
          state: { ...listQuery.state, default: 'all' as const },
          ...recordPage('Alarms'),
        }),
        response: { 200: page, ...refusals },
      },
    },
    async (request, reply) => {
      const { query, actor, params } = request;
      const found = await alarms.listOfDevice(actor, params.device, { ...filterOf(query), ...pageFor(query) });
      return sendPage(request, reply as never, query, found);
    },
  );

  app.get(
    '/alarms/:alarm',
    {
      schema: {
        tags,
        operationId: 'getAlarm',
        summary: 'Read an alarm',
        description: forWhom,
        params: AlarmParams,
        response: { 200: AlarmSchema, ...refusals },
      },
    },
    async (request) => toAlarmRecord(await alarms.get(request.actor, request.params.alarm)) as never,
  );
}

function registerHandling(app: TypedApp, { alarms }: Services): void {
  const path = (field: string) => `/alarms/:alarm/${field}` as const;
  const schema = (operationId: string, summary: string) => ({
    ...{ tags, operationId, summary, description: whoMay, params: AlarmParams, response: writes },
  });

  app.put(
    path('acknowledgement'),
    { schema: { ...schema('acknowledgeAlarm', 'Acknowledge an alarm'), body: AcknowledgementBody } },
    async (request, reply) => {
      await alarms.acknowledge(request.actor, request.params.alarm, request.body);
      return answerDone(reply) as never;
    },
  );
  app.delete(
    path('acknowledgement'),
    { schema: schema('unacknowledgeAlarm', 'Take an acknowledgement back') },
    async (request, reply) => {
      await alarms.acknowledge(request.actor, request.params.alarm, null);
      return answerDone(reply) as never;
    },
  );
  app.put(
    path('snooze'),
    { schema: { ...schema('snoozeAlarm', 'Snooze an alarm'), body: SnoozeBody } },
    async (request, reply) => {
      await alarms.snooze(request.actor, request.params.alarm, parseTimeField(request.body.until, '/until'));
      return answerDone(reply) as never;
    },
  );
  app.delete(
    path('snooze'),
    { schema: schema('unsnoozeAlarm', 'End the snooze of an alarm') },
    async (request, reply) => {
      await alarms.snooze(request.actor, request.params.alarm, null);
      return answerDone(reply) as never;
    },
  );
  app.put(
    path('assignee'),
    { schema: { ...schema('assignAlarm', 'Assign an alarm'), body: AssignmentBody } },
    async (request, reply) => {
      await alarms.assign(request.actor, request.params.alarm, request.body.username);
      return answerDone(reply) as never;
    },
  );
  app.delete(
    path('assignee'),
    { schema: schema('unassignAlarm', 'Assign an alarm to nobody') },
    async (request, reply) => {
      await alarms.assign(request.actor, request.params.alarm, null);
      return answerDone(reply) as never;
    },
  );
}

const exampleEvent =
  'id: 17-4\nevent: alarm\ndata: {"id":"7f3bfb5e-7d9e-4a55-9c1c-2f0ad1f4f7e4","kind":"rule","state":"active","since":"2016-06-08T18:20:27Z","times":1,"value":41.5,"threshold":40,"condition":"TC>40","device_id":"field-3","sensor_id":"TC","may_update":true}\n\n';

function registerStream(app: TypedApp, { alarmStreams }: Services): void {
  app.addHook('preClose', (done) => {
    alarmStreams.close();
    done();
  });

  app.get(
    '/alarms/live',
    {
      schema: {
        tags,
        operationId: 'followAlarms',
        summary: 'Follow alarms live',
        description: `Server-sent events: \`alarm\` with the record of each alarm that begins, ends, or is acknowledged, snoozed or assigned; several changes within a second may come as one. \`end\` says why a stream ends. With \`Last-Event-ID\` what came in the meantime is sent first. A comment every 15 seconds is a sign of life. Use fetch with the \`Authorization\` header, because \`EventSource\` sends no token. ${forWhom}`,
        headers: Type.Object({
          'last-event-id': Type.Optional(
            boundedText(limits.headerTextCharsMax, { description: 'The id of the last event that you have.' }),
          ),
        }),
        response: {
          200: {
            description: 'A stream of events, until one side ends it.',
            content: {
              'text/event-stream': {
                schema: Type.String({ description: 'Events, each closed by an empty line.', examples: [exampleEvent] }),
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
      const actorNow = () => request.actorNow();
      setEventHeaders(reply as never);
      if (request.method === 'HEAD') {
        alarmStreams.permit(await actorNow());
        return reply.send(nothing() as never);
      }
      const stream = await alarmStreams.open({ actorNow, last: lastHad(request) });
      return sendEvents(request as never, reply as never, { stream, textOf: eventText }) as never;
    },
  );
}

/** An id of another form is no position. */
function lastHad(request: FastifyRequest): AlarmCursor | undefined {
  const [, changed, key] = /^(\d{1,15})-(\d{1,15})$/.exec(String(request.headers['last-event-id'] ?? '')) ?? [];
  return changed === undefined || key === undefined ? undefined : { changed: Number(changed), key: Number(key) };
}

function eventText(event: AlarmEvent): string {
  if (event.kind === 'end') return `event: end\ndata: ${JSON.stringify({ reason: event.reason })}\n\n`;
  const { changed, key } = event.cursor;
  return `id: ${changed}-${key}\nevent: alarm\ndata: ${JSON.stringify(toAlarmRecord(event.alarm))}\n\n`;
}

const DeviceAlarmsQuery = Type.Object({ ...listQuery, ...recordPage('Alarms') });
type ListQuery = Static<typeof DeviceAlarmsQuery>;

function filterOf({ state, acknowledged, snoozed, kind }: ListQuery): AlarmFilter {
  const isOpen = state === 'all' ? undefined : state === 'active';
  return { isOpen, isAcknowledged: acknowledged, isSnoozed: snoozed, kind };
}

const pageFor = ({ limit, offset }: ListQuery) => ({ limit, offset });

function sendPage(request: FastifyRequest, reply: FastifyReply, query: ListQuery, { alarms, total }: AlarmPage): never {
  setPage(request, reply, { ...pageFor(query), total });
  return sendJsonText(
    reply,
    arrayText(each(alarms), (alarm) => JSON.stringify(toAlarmRecord(alarm))),
  ) as never;
}

async function* each<T>(list: readonly T[]): AsyncGenerator<T> {
  yield* list;
}

export function toAlarmRecord(alarm: Alarm): object {
  const { id, kind, times, threshold, condition, device, sensor, gateway, rule, acknowledged } = alarm;
  const timeOf = (ms: number | undefined) => (ms === undefined ? undefined : formatTimestamp(ms));
  const jsonOf = (json: string | undefined) => (json === undefined ? undefined : (JSON.parse(json) as unknown));
  return {
    ...{ id, kind, state: alarm.clearedMs === undefined ? 'active' : 'cleared' },
    ...{ since: timeOf(alarm.sinceMs), cleared: timeOf(alarm.clearedMs), times },
    ...{ value: jsonOf(alarm.valueJson), threshold, condition, usual_interval: alarm.usualS },
    ...{ device_id: device?.id, device_name: device?.name },
    ...{ sensor_id: sensor?.id, sensor_name: sensor?.name, unit: sensor?.unit },
    ...{ location: jsonOf(alarm.locationJson), gateway_id: gateway?.id, gateway_name: gateway?.name },
    ...{ notification_id: rule?.id, notification_description: rule?.description },
    acknowledged: acknowledged && { at: timeOf(acknowledged.atMs), by: acknowledged.by, note: acknowledged.note },
    ...{ snoozed_until: timeOf(alarm.snoozedUntilMs), assigned_to: alarm.assignee, may_update: alarm.mayUpdate },
  };
}
