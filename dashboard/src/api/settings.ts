// The history of actuators' settings, as the page of a device shows it beside each actuator and on its chart.
import { queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call, type Schemas } from './client.ts';
import { keys } from './query-keys.ts';

export type Setting = Schemas['Setting'];

/** The newest settings of an actuator, newest first. Read again after a while: delivery and answers come later. */
export function settingsQuery(device: string, actuator: string) {
  const params = { path: { device, actuator }, query: { lastN: limits.settingsShownMax, offset: 0 } };
  return queryOptions({
    queryKey: keys.settings(device, actuator),
    refetchInterval: limits.settingsReadMs,
    queryFn: () => call(api.GET('/api/v2/devices/{device}/actuators/{actuator}/values', { params })),
  });
}
