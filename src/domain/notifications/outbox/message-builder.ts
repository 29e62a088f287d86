// Makes the messages of a rule that fires or recovers: one for each user and channel, or the setting of an actuator,
// with variables replaced. Bounds the messages that the rules of one author make in a minute, so that no author fills
// the outbox.

import type { Ids } from '../../../base/ids.ts';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import { type Actor, guestUsername, type UserKey } from '../../users/user.ts';
import type { Users } from '../../users/users.ts';
import { messageTextOf, type TextSource } from '../rules/message-text.ts';
import type { NotificationId } from '../rules/notification.ts';
import { actuatorChannel, type NewMessage, recordChannel } from './message.ts';
import { occasionOf } from './message-occasion.ts';

/** The channel whose messages carry what they are about for programs, beside their text. */
const occasionChannel = 'webhook';

/** Random bytes of the id of a message. */
export const messageIdBytes = 12;

export interface MessageContext extends Omit<TextSource, 'origin'> {
  readonly author: Actor;
  readonly id: NotificationId;
}

export interface MessageRecipient {
  readonly username: string;
  /** One of `channels`, or `actuator`. */
  readonly channel: string;
}

export class MessageBuilder {
  readonly #ids: Ids;
  readonly #clock: Clock;
  readonly #users: Pick<Users, 'findByName'>;
  readonly #origin: string;
  /**
   * KiB that authors have sent in the present minute of the monotonic clock. Counted in this process alone, because the evaluation of rules
   * must not wait.
   */
  readonly #spent = new LruCache<UserKey, { readonly minute: number; readonly kib: number }>({
    weightMax: limits.usersCachedMax,
  });

  constructor(parts: {
    readonly ids: Ids;
    readonly clock: Clock;
    readonly users: Pick<Users, 'findByName'>;
    /** Where links in texts lead to. */
    readonly origin: string;
  }) {
    this.#ids = parts.ids;
    this.#clock = parts.clock;
    this.#users = parts.users;
    this.#origin = parts.origin;
  }

  /** The messages of a rule that fires or recovers; beyond a bound, a single failed one that says so. */
  make(context: MessageContext): NewMessage[] {
    const { rule, author } = context;
    const { action } = rule;
    const source = { ...context, origin: this.#origin };
    const text = messageTextOf(source);
    if (text === undefined) return [];
    const recipients =
      action.kind === 'actuation'
        ? [{ username: author.username, channel: actuatorChannel }]
        : action.usernames.flatMap((username) => action.channels.map((channel) => ({ username, channel })));
    if (recipients.length === 0) return [];
    const isSmall = recipients.length * Buffer.byteLength(text) <= limits.firingTextBytesMax;
    if (isSmall && this.mayMake(author, recipients.length * (1 + text.length / 1024)))
      return this.address(recipients, { author, text }).map((message) =>
        message.channel === occasionChannel ? { ...message, occasion: occasionOf(source) } : message,
      );
    const most = isSmall ? 'more messages than an author may send in a minute' : 'more text than one firing may send';
    const reason = `${most}; ${recipients.length} were not made`;
    return this.address(recipients.slice(0, 1), { author, text }).map((first) => ({
      ...first,
      state: 'failed',
      reason,
    }));
  }

  /** One message for each recipient, in its first state. */
  address(
    recipients: readonly MessageRecipient[],
    { author, text }: { readonly author: Actor; readonly text: string },
  ): NewMessage[] {
    const createdMs = this.#clock.now();
    return recipients.map((recipient) => ({
      id: Buffer.from(this.#ids.bytes(messageIdBytes)).toString('hex'),
      ...recipient,
      text,
      ...firstState(recipient.channel, author),
      createdMs,
    }));
  }

  /**
   * The messages in the state in which they are stored. Messages of the channel `none` fail here where no user has the name;
   * others fail in the outbox. Call it right before they are stored.
   */
  async settle(messages: readonly NewMessage[]): Promise<NewMessage[]> {
    const settled: NewMessage[] = [];
    for (const message of messages) {
      const isKnown = message.state !== 'sent' || (await this.#hasUser(message.username));
      settled.push(isKnown ? message : { ...message, state: 'failed', reason: 'no such user' });
    }
    return settled;
  }

  async #hasUser(username: string): Promise<boolean> {
    return username !== guestUsername && (await this.#users.findByName(username)) !== undefined;
  }

  /** Counts the KiB that an author is about to send; returns false beyond the bound of a minute. */
  mayMake({ key }: Actor, kib: number): boolean {
    const minute = Math.floor(this.#clock.elapsedMs() / 60_000);
    const before = this.#spent.get(key);
    const spent = kib + (before?.minute === minute ? before.kib : 0);
    this.#spent.set(key, { minute, kib: spent });
    return spent <= limits.messagesKibPerMinuteMax;
  }
}

/**
 * The first state of a message. The channel `none` only records. Messages of guest are not delivered, because nobody
 * can be held responsible for them.
 */
function firstState(channel: string, author: { readonly guest: boolean }): Pick<NewMessage, 'state' | 'reason'> {
  if (channel === recordChannel) return { state: 'sent' };
  if (author.guest && channel !== actuatorChannel) return { state: 'undelivered', reason: 'sign in to send' };
  return { state: 'queued' };
}
