// What callers without a token may do, for admins who ask and choose.
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { api, call, type Schemas } from './client.ts';
import { keys } from './query-keys.ts';

export type GuestAccess = Schemas['GuestAccess']['guest_access'];

export const guestAccessQuery = queryOptions({
  queryKey: keys.guestAccess,
  queryFn: () => call(api.GET('/api/v2/settings/guest-access')),
});

/** @throws ApiProblem with the server's reason. */
export async function chooseGuestAccess(queries: QueryClient, access: GuestAccess): Promise<void> {
  await call(api.PUT('/api/v2/settings/guest-access', { body: { guest_access: access } }));
  // What everybody is told before they sign in has changed with it.
  await Promise.all([
    queries.invalidateQueries({ queryKey: keys.guestAccess }),
    queries.invalidateQueries({ queryKey: keys.facts }),
  ]);
}
