// Keeps the service from being left without an admin. Changes and removals of accounts are made one at a time, so that a
// removal that the store refuses at its end has not taken the user's devices by then.
import { Refusal } from '../../base/refusal.ts';
import type { User } from '../users/user.ts';
import type { UserStore } from '../users/user-store.ts';

export class LastAdmin {
  readonly #store: UserStore;
  /** The change in progress; the next one waits for it. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor({ store }: { readonly store: UserStore }) {
    this.#store = store;
  }

  /** Makes a change when no other is in progress. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** @throws Refusal `conflict` where the user is the only admin who can sign in. */
  async requireOther(user: User): Promise<void> {
    const isOne = (await this.#store.findByKey(user.key))?.admin === true && user.passwordHash !== undefined;
    if (!isOne || (await this.#store.countAdmins()) > 1) return;
    throw new Refusal('conflict', `${user.username} is the last admin. Make another one first.`);
  }
}
