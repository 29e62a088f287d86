// Who uses an MQTT client id. A gateway connects under its id, so a gateway that is declared and a client that connects ask
// for the same name: this says who has it, and lets one of them decide at a time (contract 6 and 8). Called by gateways.ts
// and by the MQTT edge, which knows connections and stored sessions.
import { Refusal } from '../../base/refusal.ts';
import type { Actor, UserKey } from '../users/user.ts';

/** What the MQTT edge knows. */
export interface ClientIdHolders {
  /** Users, guest apart, of whom a client is connected under the id, or has a session stored under it. */
  holdersOf(clientId: string): readonly UserKey[];
}

export class ClientIds {
  #holders: ClientIdHolders | undefined;
  /** What was begun last for each id. Bounded by the requests and connections under way. */
  readonly #turns = new Map<string, Promise<unknown>>();

  /** Until there are holders, nobody holds an id: no client connects before. */
  follow(holders: ClientIdHolders): void {
    this.#holders = holders;
  }

  /** Does the work when no other work on the same id is under way, so that what it finds out still holds when it ends. */
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

  /** @throws Refusal `exists` when somebody else who signed in uses the id. */
  requireFree(actor: Actor, id: string): void {
    const holders = this.#holders?.holdersOf(id) ?? [];
    if (holders.every((holder) => holder === actor.key)) return;
    const detail = `The id ${id} is the client id of an MQTT connection or session of somebody else. Choose another id.`;
    throw new Refusal('exists', detail);
  }
}
