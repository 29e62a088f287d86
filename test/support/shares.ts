// One user for each scope that a share can give, so that a table shows which scope decides.
import type { TestServer } from './test-server.ts';

const scopes = {
  viewer: 'device:view',
  updater: 'device:update',
  deleter: 'device:delete',
  reader: 'device-data:view',
  pusher: 'device-data:create',
} as const;

export const sharers: readonly string[] = Object.keys(scopes);

/** Everybody a table goes over; `sharers` are to be added to the server's people. */
export const everybody: readonly string[] = ['guest', 'stranger', ...sharers, 'owner', 'admin'];

/** Gives each of them its one scope on the device. */
export async function shareWithAll(server: TestServer, id: string): Promise<void> {
  for (const [name, scope] of Object.entries(scopes)) {
    await server.call('owner', 'PUT', `/devices/${id}/shares/${name}`, { json: { scopes: [scope] } });
  }
}
