// API keys for tests, created through the API.
import { make } from './api/calls.ts';
import { Client } from './mqtt/mqtt-client.ts';
import type { TestServer } from './test-server.ts';

export interface MadeKey {
  readonly id: string;
  readonly key: string;
}

export async function makeKeyOn(server: TestServer, as: string, json: object = {}): Promise<MadeKey> {
  const { body } = await make(server, { as, call: 'POST /auth/keys', json: { name: 'k', ...json }, expect: 200 });
  return body;
}

/** Connects over MQTT with the key as password. */
export function connectByKey(server: TestServer, { key }: MadeKey, username = ''): Promise<Client> {
  return Client.connect(server, username, { password: key });
}
