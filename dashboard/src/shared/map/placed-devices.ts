// The devices that have a position; for the map of all, and for that of a filtered list.
import { queryOptions } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';

/** What a list of devices may be asked for besides its page. */
export interface DevicesQuestion {
  readonly q?: string;
  readonly search?: string;
  readonly shared?: boolean;
  readonly order?: 'created' | '-created' | 'name' | '-name' | 'natural' | '-natural' | 'heard' | '-heard';
}

export type DevicePosition = Schemas['DevicePosition'];

export interface PlacedDevices {
  readonly devices: readonly DevicePosition[];
  /** All that there are. */
  readonly total: number;
}

/** Up to a bound, in one answer that has no more than a map shows. */
export function placedQuery({ order: _, ...question }: DevicesQuestion = {}) {
  return queryOptions({
    queryKey: keys.deviceList({ placed: question }),
    refetchInterval: 30_000,
    queryFn: async (): Promise<PlacedDevices> => {
      const query = { ...question, limit: limits.mapDevicesMax, offset: 0 };
      const { page, total } = await callPage(api.GET('/api/v2/device_positions', { params: { query } }));
      return { devices: page, total };
    },
  });
}
