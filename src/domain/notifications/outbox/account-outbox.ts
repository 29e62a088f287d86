// Puts the mails that the service itself writes to its users into the outbox, on a channel that lists do not show. They are
// composed when they are sent (dispatcher.ts).
import type { Ids } from '../../../base/ids.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { AccountMail, AccountMailOutbox } from '../../accounts/account-mail.ts';
import type { User } from '../../users/user.ts';
import { accountChannel } from './message.ts';
import { messageIdBytes } from './message-builder.ts';
import type { MessageStore } from './message-store.ts';
import type { Outbox } from './outbox.ts';

export class AccountOutbox implements AccountMailOutbox {
  readonly #store: MessageStore;
  readonly #outbox: Pick<Outbox, 'wakeFor'>;
  readonly #ids: Ids;
  readonly #clock: Clock;

  constructor(parts: {
    readonly messageStore: MessageStore;
    readonly outbox: Pick<Outbox, 'wakeFor'>;
    readonly ids: Ids;
    readonly clock: Clock;
  }) {
    this.#store = parts.messageStore;
    this.#outbox = parts.outbox;
    this.#ids = parts.ids;
    this.#clock = parts.clock;
  }

  async add(user: User, mail: AccountMail): Promise<void> {
    const id = Buffer.from(this.#ids.bytes(messageIdBytes)).toString('hex');
    const { username } = user;
    const message = { id, username, channel: accountChannel, text: JSON.stringify(mail), state: 'queued' } as const;
    await this.#store.create(user.key, [{ ...message, createdMs: this.#clock.now() }]);
    this.#outbox.wakeFor(new Set([accountChannel]));
  }
}
