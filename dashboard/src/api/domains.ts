// The domains in use, for fields and filters that name one.
import { queryOptions } from '@tanstack/react-query';
import { api, call } from './client.ts';
import { keys } from './query-keys.ts';

export const domainsQuery = queryOptions({
  queryKey: [...keys.devices, 'domains'],
  staleTime: 60_000,
  queryFn: () => call(api.GET('/api/v2/domains')),
});
