// That a message of QoS 2 has come: stored with what is stored of the message for its receivers, in one commit, so that after a
// crash its repeat finds both or neither. Made by incoming-publishes.ts for messages to other clients, begun by delivery.ts.
import type { JoinedWrites } from '../../domain/ports/mqtt-sessions.ts';

export class Receipt {
  /** To be given to what is stored in the same commit. */
  readonly joined: JoinedWrites = { isJoined: true };
  readonly #store: (joined: JoinedWrites) => Promise<void>;
  #stored: Promise<void> | undefined;

  constructor(store: (joined: JoinedWrites) => Promise<void>) {
    this.#store = store;
  }

  /** Begins to store it, unless that has begun; resolves when it is stored. */
  store(): Promise<void> {
    this.#stored ??= this.#store(this.joined);
    return this.#stored;
  }
}
