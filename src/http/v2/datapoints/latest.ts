// The latest value of many sensors in one small answer (contract 5): a row for each sensor that has one, of the devices that
// are named or that a filter finds, as far as the caller may view their values. Devices are read in steps, as in their list.
import { type Static, Type } from 'typebox';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Datapoint } from '../../../domain/datapoints/datapoint.ts';
import type { SensorRow } from '../../../domain/datapoints/history/history.ts';
import type { Device } from '../../../domain/devices/device.ts';
import { scope } from '../../../domain/scopes.ts';
import type { Actor } from '../../../domain/users/user.ts';
import { datapointRows } from '../../lists/datapoint-rows.ts';
import { setPage } from '../../lists/paging.ts';
import { formatOf, sendRows } from '../../lists/row-streams.ts';
import { LocatedDatapointSchema } from '../../schemas/history-schemas.ts';
import { idsOf } from '../../schemas/ids.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { offsetParameter, pageOf, refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { actorWhileConnected } from '../../sign-in/connected-actor.ts';

const ids = (description: string, example: string) =>
  Type.Optional(boundedText(limits.queryTextCharsMax, { minLength: 1, description, examples: [example] }));

const LatestQueryString = Type.Object({
  device_id: ids(
    'Ids of devices, separated by commas; a comma within an id is written `%252C`. Instead of `q`.',
    'field-3,field-4',
  ),
  q: Type.Optional(
    boundedText(limits.filterCharsMax, {
      description:
        'Filter as for the list of devices, such as `owner==awa`. Left out, with `device_id`: all you may view.',
    }),
  ),
  sensor_id: ids('Ids of sensors, separated by commas: only these. Left out: all sensors.', 'TC'),
  format: Type.Optional(
    Type.Union([Type.Literal('json'), Type.Literal('csv')], { description: 'The same choice as by `Accept`.' }),
  ),
  limit: Type.Integer({
    minimum: 1,
    maximum: limits.deviceListMax,
    default: limits.deviceListMax,
    description: 'Devices a page.',
  }),
  offset: offsetParameter('Devices'),
});
type LatestQueryString = Static<typeof LatestQueryString>;

export function registerLatest(app: TypedApp, services: Services): void {
  const page = pageOf(LocatedDatapointSchema, { description: 'A row for each sensor with a value.', counted: true });
  const csv = {
    schema: Type.String({
      description: 'CSV (RFC 4180) with a header line; compound values as JSON.',
      examples: ['device_id,sensor_id,timestamp,date_received,value\r\nfield-3,TC,,2016-06-08T18:20:28.011Z,21.5\r\n'],
    }),
  };
  app.get(
    '/latest',
    {
      schema: {
        tags: ['Datapoints'],
        operationId: 'listLatest',
        summary: 'Read the latest value of many sensors',
        description:
          'What `last_value` of each sensor says, calibrated, as a row with its device and sensor; JSON or CSV by `Accept` or `format`. Sensors without a value, and devices that do not exist or whose values you may not view, are left out. `limit` and `offset` page by devices, and `X-Total-Count` counts these.',
        querystring: LatestQueryString,
        response: { 200: { ...page, content: { ...page.content, 'text/csv': csv } }, ...refusals },
      },
    },
    async (request, reply) => {
      const { query } = request;
      const actor = actorWhileConnected(request, reply);
      const { steps, total } = await devicesOf(services, actor, query);
      setPage(request, reply as never, { ...query, total });
      const format = query.format ?? (formatOf(request.headers.accept) === 'csv' ? 'csv' : 'json');
      const sensors = query.sensor_id === undefined ? undefined : new Set(idsOf(query.sensor_id, 'sensor_id'));
      const text = datapointRows({ isLocated: true, isExact: false, isForSpreadsheet: false });
      const open = async () => latestRows(services, actor, { steps, sensors });
      return (await sendRows(request, reply as never, format, {
        text,
        open,
        limit: undefined,
        offset: 0,
        heldBytes: 0,
      })) as never;
    },
  );
}

/** A page of the devices asked for, in steps. */
async function devicesOf(
  { devices }: Services,
  actor: Actor,
  { device_id, q, limit, offset }: LatestQueryString,
): Promise<{ readonly steps: AsyncGenerator<readonly Device[]>; readonly total: number }> {
  if (device_id === undefined) return devices.list(actor, { q, limit, offset });
  if (q !== undefined) fault('q', 'cannot be used together with device_id');
  const named = idsOf(device_id, 'device_id');
  return { steps: devices.listVisible(actor, named.slice(offset, offset + limit)), total: named.length };
}

async function* latestRows(
  { devices, lastValues }: Services,
  actor: Actor,
  asked: { readonly steps: AsyncGenerator<readonly Device[]>; readonly sensors: ReadonlySet<string> | undefined },
): AsyncGenerator<SensorRow<Datapoint>[]> {
  for await (const step of asked.steps) {
    const readable = step.filter((device) => (devices.scopesOf(actor, device) & scope.dataView) !== 0);
    const wanted = readable.flatMap((device) =>
      [...device.sensors.values()]
        .filter(({ id }) => asked.sensors === undefined || asked.sensors.has(id))
        .map((sensor) => ({ device, sensor })),
    );
    const { pushed } = await lastValues.ofSensors(
      actor,
      wanted.map(({ sensor }) => sensor),
      { readsMax: 0 },
    );
    yield wanted.flatMap(({ device, sensor }) => {
      const row = pushed.get(sensor.key);
      return row === undefined ? [] : [{ device: device.id, sensor: sensor.id, row }];
    });
  }
}

function fault(field: string, detail: string): never {
  throw new Refusal('malformed', `${field} ${detail}.`, { faults: [{ pointer: `/${field}`, detail }] });
}
