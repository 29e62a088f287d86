// The devices that have a position, page by page up to a bound; for the map of all, and for that of a filtered list.
import { queryOptions } from '@tanstack/react-query';
import { api, callPage, type Device } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';

/** What a list of devices may be asked for besides its page. */
export interface DevicesQuestion {
  readonly q?: string;
  readonly search?: string;
  readonly shared?: boolean;
  readonly order?: 'created' | '-created' | 'name' | '-name' | 'natural' | '-natural' | 'heard' | '-heard';
}

const pageRows = 1_000;
const isPlaced = 'location.latitude>=-90';

export function placedQuery(question: DevicesQuestion = {}) {
  const { order: _, q, ...rest } = question;
  return queryOptions({
    queryKey: keys.deviceList({ placed: { ...rest, q } }),
    refetchInterval: 30_000,
    queryFn: () => readPlaced({ ...rest, q: q === undefined ? isPlaced : `${q};${isPlaced}` }),
  });
}

async function readPlaced(question: DevicesQuestion): Promise<{ devices: readonly Device[]; total: number }> {
  const devices: Device[] = [];
  for (;;) {
    const query = { ...question, limit: pageRows, offset: devices.length };
    const { page, total } = await callPage(api.GET('/api/v2/devices', { params: { query } }));
    devices.push(...page);
    if (page.length < pageRows || devices.length >= Math.min(total, limits.mapDevicesMax)) return { devices, total };
  }
}
