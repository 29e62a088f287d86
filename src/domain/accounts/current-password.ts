// Asks for the present password before what takes an account over or away: an open page or a stolen token must not be
// enough. Guesses are slowed down as those of sign-ins are.
import { Refusal } from '../../base/refusal.ts';
import type { Logins } from '../users/logins.ts';
import type { User } from '../users/user.ts';

export class CurrentPassword {
  readonly #logins: Logins;

  constructor({ logins }: { readonly logins: Logins }) {
    this.#logins = logins;
  }

  /**
   * @param given.what what is done, in a sentence: "to … your own …".
   * @throws Refusal `malformed` where none is given, `forbidden` where it is wrong, `too-many`, `busy`.
   */
  async require(
    user: User,
    given: { readonly current: string | undefined; readonly address: string; readonly what: string },
  ): Promise<void> {
    const { current, address, what } = given;
    if (current === undefined) {
      const detail = `is missing: send your present password with it to ${what}`;
      throw new Refusal('malformed', `/current ${detail}.`, { faults: [{ pointer: '/current', detail }] });
    }
    try {
      await this.#logins.verify({ username: user.username, password: current, address });
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'unauthenticated') throw error;
      throw new Refusal('forbidden', 'The current password is wrong.', {
        faults: [{ pointer: '/current', detail: 'is not the present password' }],
      });
    }
  }
}
