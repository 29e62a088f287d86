// Which users use an MQTT client id. A gateway connects under its own id, so declaring a gateway and connecting a
// client compete for the same name: here one of them decides at a time (contract 6 and 8). Called by gateways.ts and by
// MQTT, which knows connections and stored sessions.
import { Refusal } from '../../base/refusal.ts';
import type { Actor, UserKey } from '../users/user.ts';

/** Implemented by MQTT. */
export interface ClientIdHolders {
  /** Users, without guest, who have a client connected under the id or a session stored under it. */
  holdersOf(clientId: string): readonly UserKey[];
}

export class ClientIds {
  #holders: ClientIdHolders | undefined;
  /** By id: the work begun last. Bounded by the requests and connections in progress. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Before this is called no id is in use, because no client can be connected. */
  follow(holders: ClientIdHolders): void {
    this.#holders = holders;
  }

  /** Runs the work when no other work on the same id is in progress, so that what it reads stays true until it ends. */
  async inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const done = before.then(work);
    const over = done.catch(() => {});
    this.#turns.set(id, over);
    try {
      return await done;
    } finally {
      if (this.#turns.get(id) === over) this.#turns.delete(id);
    }
  }

  /** @throws Refusal `exists` when another signed-in user uses the id. */
  requireFree(actor: Actor, id: string): void {
    const holders = this.#holders?.holdersOf(id) ?? [];
    if (holders.every((holder) => holder === actor.key)) return;
    const detail = `The id ${id} is the client id of an MQTT connection or session of somebody else. Choose another id.`;
    throw new Refusal('exists', detail);
  }
}
