// The connections that have signed in, by client id, and what becomes of one that ends. Used by the MQTT server.
import type { Client } from './client.ts';

export class Connections {
  readonly #byId = new Map<string, Client>();
  /** True once the service stops: nobody is let in any more. */
  isClosed = false;

  all(): Iterable<Client> {
    return this.#byId.values();
  }

  of(clientId: string): Client | undefined {
    return this.#byId.get(clientId);
  }

  /** The connection takes its client id over from an earlier one [MQTT-3.1.4-2]. */
  add(client: Client): void {
    this.#byId.get(client.id)?.close();
    this.#byId.set(client.id, client);
  }

  /** Call when the connection has ended. */
  remove(client: Client): void {
    if (this.#byId.get(client.id) === client) this.#byId.delete(client.id);
  }
}
