// Which datapoints of a device lie in the future, by the clock of the server.
import { queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call, type Device, type Schemas } from './client.ts';
import { escapeComma } from './devices.ts';
import { keys } from './query-keys.ts';

export type SensorFuture = Schemas['SensorFuture'];

/** Of one sensor where it is named, else of all; sensors without such datapoints are left out. */
export function futureQuery(device: Device, sensor?: string) {
  return queryOptions({
    queryKey: keys.future(device.id, sensor ?? ''),
    // The server looks at so many sensors at once.
    enabled: sensor !== undefined || device.sensors.length <= limits.futureSensorsMax,
    staleTime: limits.futureStaleMs,
    queryFn: async (): Promise<readonly SensorFuture[]> => {
      const query = sensor === undefined ? {} : { sensor_id: escapeComma(sensor) };
      const params = { path: { device: device.id }, query };
      return (await call(api.GET('/api/v2/devices/{device}/future', { params }))).sensors;
    },
  });
}
