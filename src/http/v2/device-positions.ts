// Where devices are, for maps: of each that has a position only what a map shows of it, so that thousands are one small
// answer. Devices are read in steps, as in their list; when one was last heard is for those who may view its values.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import type { LastDatapoints } from '../../domain/datapoints/history/last-values.ts';
import type { Device } from '../../domain/devices/device.ts';
import { scope } from '../../domain/scopes.ts';
import { sendRecords } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { DevicePositionSchema } from '../schemas/device-schemas.ts';
import { toSeconds } from '../schemas/records.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { offsetParameter, pageOf, refusals, type TypedApp } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { actorWhileConnected } from '../sign-in/connected-actor.ts';

/** On earth: what a device has sent as its location may be anything. */
const onEarth = 'location.latitude>=-90;location.latitude<=90;location.longitude>=-180;location.longitude<=180';

export function registerDevicePositions(app: TypedApp, { devices, lastValues }: Services): void {
  app.get(
    '/device_positions',
    {
      schema: {
        tags: ['Devices'],
        operationId: 'listDevicePositions',
        summary: 'Read where devices are',
        description:
          'Of each device that you may view and that has a position: its id, its name, where it is, and when one of its sensors was last heard, if you may view its values. `X-Total-Count` counts all of them.',
        querystring: Type.Object({
          q: Type.Optional(
            boundedText(limits.filterCharsMax, {
              description: 'Filter as for the list of devices, such as `owner==awa`.',
              examples: ['owner==awa'],
            }),
          ),
          search: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: limits.searchCharsMax,
              description: 'Only devices whose id or name holds this text, whatever the case.',
              examples: ['field'],
            }),
          ),
          shared: Type.Optional(
            Type.Boolean({ description: 'True: only those that somebody shares with you.', examples: [true] }),
          ),
          limit: Type.Integer({
            minimum: 1,
            maximum: limits.devicePositionsMax,
            default: limits.devicePositionsMax,
            description: 'Devices a page.',
          }),
          offset: offsetParameter('Devices'),
        }),
        response: {
          200: pageOf(DevicePositionSchema, { description: 'A page of positions.', counted: true }),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { limit, offset, search, q, shared } = request.query;
      const page = await devices.list(actorWhileConnected(request, reply), {
        ...{ q: q === undefined ? onEarth : `${q};${onEarth}`, shared, limit, offset },
        search: { text: search, sensorText: undefined },
      });
      setPage(request, reply, { limit, offset, total: page.total });
      const records = async function* () {
        for await (const step of page.steps) {
          const readable = step.filter((device) => (devices.scopesOf(request.actor, device) & scope.dataView) !== 0);
          const sensors = readable.flatMap((device) => [...device.sensors.values()]);
          const last = await lastValues.ofSensors(request.actor, sensors, { readsMax: 0 });
          yield step.flatMap((device) => toPosition(device, last));
        }
      };
      return (await sendRecords(request, reply as never, records())) as never;
    },
  );
}

function toPosition(device: Device, { pushed, usualMs }: LastDatapoints) {
  const { id, name, location } = device;
  const { latitude, longitude } = (location ?? {}) as { readonly latitude?: unknown; readonly longitude?: unknown };
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return [];
  const keys = [...device.sensors.values()].map(({ key }) => key);
  const heardMs = Math.max(...keys.flatMap((key) => pushed.get(key)?.receivedMs ?? []));
  // A device is late when all of its sensors are.
  const slowestMs = Math.max(...keys.flatMap((key) => usualMs.get(key) ?? []));
  return [
    {
      id,
      ...(name === undefined || name === '' || name === id ? {} : { name }),
      latitude: toDecimetre(latitude),
      longitude: toDecimetre(longitude),
      ...(Number.isFinite(heardMs) ? { heard: new Date(heardMs).toISOString() } : {}),
      ...(slowestMs > 0 ? { usual_interval: toSeconds(slowestMs) } : {}),
    },
  ];
}

/** Six decimals are a tenth of a metre; more would be most of the answer. */
function toDecimetre(degrees: number): number {
  return Number(degrees.toFixed(6));
}
