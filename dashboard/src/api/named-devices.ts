// Devices by their ids, and by a part of their name: for screens that show or choose devices which they know by id.

import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { limits } from '../limits.ts';
import { api, call } from './client.ts';
import { filterValue } from './filter-value.ts';
import { keys } from './query-keys.ts';

/** Those of the ids that there are and one may see, up to a bound. */
export function namedDevicesQuery(ids: readonly string[]) {
  // A comma would end an id of the list.
  const asked = [...new Set(ids)].filter((id) => !id.includes(',')).slice(0, limits.namedDevicesMax);
  const query = { q: `id==${asked.map(filterValue).join(',')}`, limit: limits.namedDevicesMax, offset: 0 };
  return queryOptions({
    queryKey: keys.deviceList(query),
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
    queryFn: () => call(api.GET('/api/v2/devices', { params: { query } })),
  });
}

export function foundDevicesQuery(search: string) {
  const query = {
    ...(search === '' ? {} : { search }),
    order: 'natural' as const,
    limit: limits.pickerHitsMax,
    offset: 0,
  };
  return queryOptions({
    queryKey: [...keys.deviceList(query), 'found'],
    placeholderData: keepPreviousData,
    queryFn: () => call(api.GET('/api/v2/devices', { params: { query } })),
  });
}
