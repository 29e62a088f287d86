// The gateways there are, for fields and filters that name one.
import { queryOptions } from '@tanstack/react-query';
import { api, call } from './client.ts';
import { inNaturalOrder } from './natural-order.ts';
import { keys } from './query-keys.ts';

const query = { limit: 1000, offset: 0 };

export const gatewayChoicesQuery = queryOptions({
  queryKey: keys.gatewayList({ choices: query }),
  staleTime: 60_000,
  queryFn: async () => inNaturalOrder(await call(api.GET('/api/v2/gateways', { params: { query } })), ({ id }) => id),
});
