// What lies in the future: datapoints that were sent with a wrong clock or time zone. They are stored like all others;
// here one finds them.
import { Type } from 'typebox';
import { splitAtCommas } from '../../../base/text/comma-list.ts';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import { DeviceParams } from '../../schemas/device-schemas.ts';
import { DeviceFutureSchema } from '../../schemas/future-schemas.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { damaged, refusals, type TypedApp } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

export function registerFuture(app: TypedApp, { future }: Services): void {
  app.get(
    '/devices/:device/future',
    {
      schema: {
        tags: ['Datapoints'],
        operationId: 'findFutureDatapoints',
        summary: 'Find datapoints that are dated in the future',
        description:
          'By sensor: how many datapoints are more than five minutes later than the clock of the service, and from when to when. Such datapoints come from devices whose clock or time zone is wrong. They are stored and read like all others.',
        params: DeviceParams,
        querystring: Type.Object({
          sensor_id: Type.Optional(
            boundedText(limits.queryTextCharsMax, {
              minLength: 1,
              description: `Ids of sensors, separated by commas; a comma within an id is written \`%252C\`. Left out: all sensors, up to ${limits.sensorsReadMax}.`,
              examples: ['TC'],
            }),
          ),
        }),
        response: { 200: DeviceFutureSchema, ...refusals, ...damaged },
      },
    },
    async (request) => {
      const { sensor_id: asked } = request.query;
      const sensors = asked === undefined ? undefined : [...new Set(splitAtCommas(asked))];
      const found = await future.find(request.actor, request.params.device, sensors);
      return {
        now: formatTimestamp(found.nowMs),
        after: formatTimestamp(found.afterMs),
        clock_in_doubt: found.isClockInDoubt,
        sensors: found.sensors.map(({ sensor, count, firstMs, lastMs }) => ({
          ...{ sensor_id: sensor, count },
          ...{ first: formatTimestamp(firstMs), last: formatTimestamp(lastMs) },
        })),
      };
    },
  );
}
