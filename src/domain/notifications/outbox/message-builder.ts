// Makes the messages of a rule that fires or recovers: one for each user and channel, or the setting of an actuator,
// with variables replaced. Bounds what the rules of one author send in a minute, so that nobody fills the outbox.

import type { Ids } from '../../../base/ids.ts';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { Actor, UserKey } from '../../users/user.ts';
import { messageTextOf, type TextSource } from '../rules/message-text.ts';
import { actuatorChannel, firstState, type NewMessage, newMessageId } from './message.ts';

export interface MessageContext extends TextSource {
  readonly author: Actor;
}

export class MessageBuilder {
  readonly #ids: Ids;
  readonly #clock: Clock;
  /** KiB that authors have sent in the present minute. */
  readonly #spent = new LruCache<UserKey, { readonly minute: number; readonly kib: number }>({
    weightMax: limits.usersCachedMax,
  });

  constructor(parts: { readonly ids: Ids; readonly clock: Clock }) {
    this.#ids = parts.ids;
    this.#clock = parts.clock;
  }

  make(context: MessageContext): NewMessage[] {
    const { rule, author } = context;
    const { action } = rule;
    const text = messageTextOf(context);
    if (text === undefined) return [];
    const recipients: { readonly username: string; readonly channel: string }[] =
      action.kind === 'actuation'
        ? [{ username: author.username, channel: actuatorChannel }]
        : action.usernames.flatMap((username) => action.channels.map((channel) => ({ username, channel })));
    const [first] = recipients;
    if (first === undefined) return [];
    const createdMs = this.#clock.now();
    if (!this.mayMake(author, recipients.length * (1 + text.length / 1024))) {
      const reason = `more messages than an author may send in a minute; ${recipients.length} were not made`;
      return [{ id: newMessageId(this.#ids), ...first, text, state: 'failed', reason, createdMs }];
    }
    return recipients.map((recipient) => ({
      id: newMessageId(this.#ids),
      ...recipient,
      text,
      ...firstState(recipient.channel, author),
      createdMs,
    }));
  }

  /** Counts what an author is about to send; false where it is more than they may. */
  mayMake({ key }: Actor, kib: number): boolean {
    const minute = Math.floor(this.#clock.now() / 60_000);
    const before = this.#spent.get(key);
    const spent = kib + (before?.minute === minute ? before.kib : 0);
    this.#spent.set(key, { minute, kib: spent });
    return spent <= limits.messagesKibPerMinuteMax;
  }
}
