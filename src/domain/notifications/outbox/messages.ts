// Listing, sending and removing messages (contract 7). Messages that a person sends wait in the same outbox as those
// of rules, under the same restrictions and caps. All guests share the messages of guest.

import { inStepsAfter } from '../../../base/in-batches.ts';
import { Refusal } from '../../../base/refusal.ts';
import { isStorableText, textFault } from '../../../base/text/json.ts';
import { plainText } from '../../../base/text/plain-text.ts';
import { limits } from '../../../config/limits.ts';
import { loopTurns } from '../../callers/loop-turns.ts';
import { parseFilter } from '../../devices/filter.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Actor } from '../../users/user.ts';
import { hiddenChannels, type Message, type MessageId } from './message.ts';
import type { MessageBuilder } from './message-builder.ts';
import type { MessageStore } from './message-store.ts';
import type { NotificationCounters } from './notification-counters.ts';
import type { Outbox } from './outbox.ts';

export interface MessagePage {
  readonly messages: readonly Message[];
  /** Messages that match, on all pages. */
  readonly total: number;
}

/** A message that a person wants to send. */
export interface MessageDraft {
  readonly usernames: readonly string[];
  readonly channels: readonly string[];
  readonly text: string;
}

export class Messages {
  readonly #store: MessageStore;
  readonly #permissions: Permissions;
  readonly #builder: MessageBuilder;
  readonly #counters: NotificationCounters;
  readonly #outbox: Pick<Outbox, 'wakeFor'>;

  constructor(parts: {
    readonly messageStore: MessageStore;
    readonly permissions: Permissions;
    readonly messages: MessageBuilder;
    readonly counters: NotificationCounters;
    readonly outbox: Pick<Outbox, 'wakeFor'>;
  }) {
    this.#store = parts.messageStore;
    this.#permissions = parts.permissions;
    this.#builder = parts.messages;
    this.#counters = parts.counters;
    this.#outbox = parts.outbox;
  }

  /**
   * Puts one message for each user and channel into the outbox; all of them or none.
   * @throws Refusal `malformed`, `too-large`; `too-many` when the author has sent as many as allowed in this minute.
   */
  async send(actor: Actor, { usernames, channels, text }: MessageDraft): Promise<MessageId[]> {
    this.#permissions.requireRules(actor);
    assertText(text);
    const recipients = [...new Set(usernames)].flatMap((username) => {
      return [...new Set(channels)].map((channel) => ({ username, channel }));
    });
    if (!this.#builder.mayMake(actor, recipients.length * (1 + text.length / 1024))) {
      throw new Refusal('too-many', 'You send more messages than one may in a minute.', { retryAfterS: 60 });
    }
    const messages = await this.#builder.settle(
      this.#builder.address(recipients, { author: actor, text: plainText(text) }),
    );
    if (messages.length > 0) await this.#store.create(actor.key, messages);
    for (const { channel, state } of messages) this.#counters.end(channel, state);
    this.#outbox.wakeFor(new Set(channels));
    return messages.map(({ id }) => id);
  }

  /** @throws Refusal `malformed`, `not-found`, `forbidden` */
  async get(actor: Actor, text: string): Promise<Message> {
    const id = parseMessageId(text);
    const message = await this.#store.find(id);
    if (message === undefined || hiddenChannels.includes(message.channel)) {
      this.#permissions.requireRules(actor);
      throw new Refusal('not-found', `There is no message ${id}.`);
    }
    this.#permissions.requireAuthor(actor, { ...message, noun: 'message' });
    return message;
  }

  /** A page of the actor's messages, newest first; an admin's page has the messages of everybody. */
  async list(
    actor: Actor,
    { q, limit, offset }: { readonly q?: string | undefined; readonly limit: number; readonly offset: number },
  ): Promise<MessagePage> {
    const readable = this.#permissions.rulesOf(actor);
    const filter = parseFilter(q);
    if (readable === 'none') return { messages: [], total: 0 };
    const query = { author: readable === 'all' ? undefined : actor.key, filter };
    const total = await this.#store.count(query);
    return { messages: total <= offset ? [] : await this.#store.list({ ...query, limit, offset }), total };
  }

  /** All messages of the actor, newest first; an admin's are those of everybody. */
  async *listAll(actor: Actor): AsyncGenerator<readonly Message[]> {
    const readable = this.#permissions.rulesOf(actor);
    if (readable === 'none') return;
    const query = { author: readable === 'all' ? undefined : actor.key, filter: [] };
    yield* inStepsAfter((step) => this.#store.list({ ...query, ...step }), {
      ...{ offset: 0, stepRows: limits.archiveStepRecords },
      turn: () => loopTurns.turn(actor.caller),
    });
  }

  /** Removes the message. If it still waits, it is never sent. */
  async remove(actor: Actor, text: string): Promise<void> {
    const { id } = await this.get(actor, text);
    await this.#store.remove(id);
  }
}

/** @throws Refusal `malformed` when the text cannot be the id of a message. */
function parseMessageId(text: string): MessageId {
  if (/^[0-9a-f]{24}$/i.test(text)) return text.toLowerCase();
  const detail = 'must be the id of a message: 24 hex digits';
  throw new Refusal('malformed', `/message ${detail}.`, { faults: [{ pointer: '/message', detail }] });
}

function assertText(text: string): void {
  if (!isStorableText(text)) {
    const detail = textFault(text);
    throw new Refusal('malformed', `/message ${detail}.`, { faults: [{ pointer: '/message', detail }] });
  }
  if (text.length <= limits.messageCharsMax) return;
  const detail = `must have at most ${limits.messageCharsMax} characters, not ${text.length}`;
  throw new Refusal('too-large', `/message ${detail}.`, { faults: [{ pointer: '/message', detail }] });
}
