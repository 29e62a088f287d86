// Decides which user may use an MQTT client id. A gateway connects under its own id, so the declaration of a gateway
// and the connection of a client compete for the same name; within a process, one of them at a time (contract 6 and
// 8). Between processes each first notes what it is about to do and then asks the others, so that of two at the same
// time at least one is refused. Called by gateways.ts and by MQTT, which knows connections and stored sessions.
import { Refusal } from '../../base/refusal.ts';
import type { Announcer } from '../ports/coordination.ts';
import type { UserKey } from '../users/user.ts';

/** What this class asks of MQTT, which implements it. */
export interface ClientIdHolders {
  /** The users, without guest, who have a client connected under the id or a session stored under it. */
  holdersOf(clientId: string): readonly UserKey[];
  /** Closes the connection under the id if it must give way to this user; resolves when it is closed. */
  letGo(clientId: string, user: UserKey): Promise<void>;
}

export class ClientIds {
  readonly #coordination: Announcer;
  #holders: ClientIdHolders | undefined;
  /** By id: the work that was queued last. Bounded by the requests and connections in progress. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Ids of gateways that are being declared, with the user who declares them. Bounded by the requests in progress. */
  readonly #reserved = new Map<string, UserKey>();

  constructor({ coordination }: { readonly coordination: Announcer }) {
    this.#coordination = coordination;
  }

  /** Sets the holders. Until then no id is in use, because no client can be connected. */
  follow(holders: ClientIdHolders): void {
    this.#holders = holders;
  }

  /**
   * Makes other processes release the id's session, for a user who may connect under the id here.
   * @throws Refusal `exists` where the id is in use by somebody else there.
   */
  takeOver(clientId: string, user: UserKey): Promise<void> {
    return this.#coordination.announce({ kind: 'client-id-taken', clientId, user });
  }

  /**
   * Releases the id, for a user who connects to another process.
   * @throws Refusal `exists` where somebody else uses the id here.
   */
  async letGo(clientId: string, user: UserKey): Promise<void> {
    const reservedBy = this.#reserved.get(clientId);
    if (reservedBy !== undefined && reservedBy !== user) throw inUse(clientId);
    await this.#holders?.letGo(clientId, user);
  }

  /**
   * Runs `create`, which declares a gateway of this id.
   * @throws Refusal `exists` when another signed-in user uses the id, here or in another process.
   */
  async declare(id: string, user: UserKey, create: () => Promise<void>): Promise<void> {
    await this.inTurn(id, async () => {
      this.requireUnused(user, id);
      this.#reserved.set(id, user);
      try {
        await this.#coordination.announce({ kind: 'client-id-reserved', clientId: id, user });
        await create();
      } finally {
        this.#reserved.delete(id);
      }
    });
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

  /** @throws Refusal `exists` when another signed-in user uses the id in this process. */
  requireUnused(user: UserKey, id: string): void {
    const holders = this.#holders?.holdersOf(id) ?? [];
    const reservedBy = this.#reserved.get(id) ?? user;
    if (reservedBy !== user || holders.some((holder) => holder !== user)) throw inUse(id);
  }
}

function inUse(id: string): Refusal {
  const detail = `The id ${id} is the client id of an MQTT connection or session of somebody else. Choose another id.`;
  return new Refusal('exists', detail);
}
