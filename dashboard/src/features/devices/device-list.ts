// The list of devices page by page, as far as it has been scrolled to: rows are fetched when they come into view.
import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { api, callPage, type Device } from '../../api/client.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import type { DevicesQuestion } from '../../shared/map/placed-devices.ts';
import type { DevicesSearch } from './devices-search.ts';

const dayMs = 86_400_000;
const orders = { name: 'natural', created: '-created', heard: '-heard', silent: 'heard' } as const;

/** The question to the server; times are rounded, so that it is the same for a while. */
export function questionOf(search: DevicesSearch): DevicesQuestion {
  const { find, owner, shared, visibility, domain, gateway, silent, sort = 'created' } = search;
  const before = new Date(Math.floor((serverNow() - dayMs) / 600_000) * 600_000).toISOString();
  const conditions = [
    owner === undefined ? '' : `owner==${filterValue(owner)}`,
    visibility === undefined ? '' : `visibility==${visibility}`,
    domain === undefined ? '' : `domain==${filterValue(domain)}`,
    gateway === undefined ? '' : `gateway_id==${filterValue(gateway)}`,
    silent === undefined ? '' : `date_modified<${before}`,
  ].filter((condition) => condition !== '');
  return {
    ...(conditions.length === 0 ? {} : { q: conditions.join(';') }),
    ...(find === undefined ? {} : { search: find }),
    ...(shared === undefined ? {} : { shared }),
    order: orders[sort],
  };
}

export interface DeviceList {
  /** Undefined until the first answer. */
  readonly total: number | undefined;
  readonly error: unknown;
  readonly rowAt: (index: number) => Device | undefined;
  /** Those of the pages at hand. */
  readonly devices: readonly Device[];
  readonly onRange: (range: { readonly first: number; readonly last: number }) => void;
  readonly retry: () => void;
}

export function useDeviceList(search: DevicesSearch): DeviceList {
  const size = limits.devicePageRows;
  const [{ first, last }, onRange] = useState({ first: 0, last: 0 });
  const question = questionOf(search);
  const numbers = [...new Set([0, Math.floor(first / size), Math.floor(last / size)])];
  const answers = useQueries({
    queries: numbers.map((number) => ({
      queryKey: keys.deviceList({ ...question, number }),
      refetchInterval: 30_000,
      queryFn: () => {
        const query = { ...question, limit: size, offset: number * size };
        return callPage(api.GET('/api/v2/devices', { params: { query } }));
      },
    })),
  });
  const byNumber = new Map(numbers.map((number, index) => [number, answers[index]?.data?.page]));
  const [top] = answers;
  return {
    total: top?.data?.total,
    error: answers.find(({ error }) => error !== null)?.error,
    rowAt: (index) => byNumber.get(Math.floor(index / size))?.[index % size],
    devices: [...byNumber.values()].flatMap((page) => page ?? []),
    onRange,
    retry: () => void Promise.all(answers.map(({ refetch }) => refetch())),
  };
}
