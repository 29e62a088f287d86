// The address of each MQTT client, also behind a trusted proxy. Noted by mqtt-server.ts when a connection is accepted;
// used where something is counted by address, such as failed logins.
import type { Duplex } from 'node:stream';
import type { Client } from '../session/client.ts';

const addresses = new WeakMap<Duplex, string>();

export function noteAddress(connection: Duplex, address: string): void {
  addresses.set(connection, address);
}

/** The IP address of the client; empty where none was noted. */
export function addressOf(client: Client): string {
  return addresses.get(client.conn) ?? '';
}
