// The account of who is signed in.
import { queryOptions } from '@tanstack/react-query';
import { api, call } from './client.ts';
import { keys } from './query-keys.ts';

export const meQuery = queryOptions({
  queryKey: keys.me,
  queryFn: () => call(api.GET('/api/v2/users/me')),
});
