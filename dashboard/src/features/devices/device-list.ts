// The list of devices page by page, as far as it has been scrolled to: rows are fetched when they come into view.
import { useQueries } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, callPage, type Device } from '../../api/client.ts';
import { daySinceHeard } from '../../api/devices.ts';
import { filterValue } from '../../api/filter-value.ts';
import { keys } from '../../api/query-keys.ts';
import { limits } from '../../limits.ts';
import type { HeardDevice } from '../../shared/chart/use-days.ts';
import { lastHeard } from '../../shared/device/device-state.ts';
import type { DevicesQuestion } from '../../shared/map/placed-devices.ts';
import type { DevicesSearch } from './devices-search.ts';

const orders = { name: 'natural', created: '-created', heard: '-heard', silent: 'heard' } as const;

/** The question to the server. */
export function questionOf(search: DevicesSearch): DevicesQuestion {
  const { find, owner, shared, visibility, domain, gateway, silent, sort = 'created' } = search;
  const conditions = [
    owner === undefined ? '' : `owner==${filterValue(owner)}`,
    visibility === undefined ? '' : `visibility==${visibility}`,
    domain === undefined ? '' : `domain==${filterValue(domain)}`,
    gateway === undefined ? '' : `gateway_id==${filterValue(gateway)}`,
    silent === undefined ? '' : `last_heard<${daySinceHeard()}`,
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
  /** Those in view that are at hand, with when they were last heard. */
  readonly inView: readonly HeardDevice[];
  /** The most last values that a row at hand shows, so that columns are the same in all. */
  readonly columns: number;
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
  const shown = Array.from({ length: last - first + 1 }, (_, index) => {
    const at = first + index;
    return byNumber.get(Math.floor(at / size))?.[at % size];
  }).filter((device) => device !== undefined);
  const said = JSON.stringify(shown.map(({ id, sensors }) => ({ id, heard: lastHeard(sensors) })));
  const heard = useMemo(() => JSON.parse(said) as readonly HeardDevice[], [said]);
  return {
    total: top?.data?.total,
    error: answers.find(({ error }) => error !== null)?.error,
    rowAt: (index) => byNumber.get(Math.floor(index / size))?.[index % size],
    inView: heard,
    columns: columnsOf([...byNumber.values()].flatMap((page) => page ?? [])),
    onRange,
    retry: () => void Promise.all(answers.map(({ refetch }) => refetch())),
  };
}

/** As many as the most have; among many devices, as nearly all of them have: a few shall not take the room of all names. */
function columnsOf(devices: readonly Device[]): number {
  const counts = devices.map(valuesOf).toSorted((a, b) => a - b);
  const last = counts.length <= limits.columnsOfAllMax ? counts.length - 1 : Math.floor((counts.length - 1) * 0.9);
  return Math.max(1, counts[last] ?? 1);
}

function valuesOf({ sensors }: Device): number {
  return Math.min(sensors.filter(({ last_value }) => last_value !== undefined).length, limits.rowValuesMax);
}
