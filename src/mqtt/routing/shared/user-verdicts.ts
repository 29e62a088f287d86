// Whether any session of a user may have a message, decided once for each user and message: otherwise every member of every group
// of shared subscriptions would be asked, thousands for each message that is not for them. Used by shared-subscriptions.ts.
import type { UserKey } from '../../../domain/users/user.ts';
import type { Access } from '../../access.ts';
import type { RoutedMessage } from '../routed-message.ts';

export class UserVerdicts {
  readonly #access: Pick<Access, 'mayKeep'>;
  /** The message that was judged last. */
  #message: RoutedMessage | undefined;
  /** Of that message; as many as users have groups for it. */
  readonly #verdicts = new Map<UserKey, boolean>();

  constructor(access: Pick<Access, 'mayKeep'>) {
    this.#access = access;
  }

  /** False where no session of the user may have it; whether one of them may is to be asked of that. */
  isFor(user: UserKey, message: RoutedMessage): boolean {
    if (this.#message !== message) {
      this.#message = message;
      this.#verdicts.clear();
    }
    const known = this.#verdicts.get(user);
    if (known !== undefined) return known;
    const isFor = this.#access.mayKeep(user, message);
    this.#verdicts.set(user, isFor);
    return isFor;
  }
}
