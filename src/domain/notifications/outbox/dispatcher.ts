// Decides whether a message may be sent to its recipient (contract 7: who may send to whom, and whose cap it counts
// for), and hands it to the sender of its channel. Sets actuators in the name of the author, with the author's
// present rights. Called by the outbox alone.

import { isTransient, Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { AccountMail } from '../../accounts/account-mail.ts';
import type { AccountMails } from '../../accounts/account-mails.ts';
import type { Actuators } from '../../actuators/actuators.ts';
import type { Fence } from '../../ports/coordination.ts';
import { guestUsername, type User, type UserKey } from '../../users/user.ts';
import type { Users } from '../../users/users.ts';
import type { ActuatorSetting } from '../rules/message-text.ts';
import type { Channel } from '../rules/notification.ts';
import { accountChannel, actuationStatus, actuatorChannel, hiddenChannels } from './message.ts';
import type { CapCharge, DueMessage, MessageOutcome, MessageStore } from './message-store.ts';
import type { NotificationCounters } from './notification-counters.ts';
import type { Sender, SendOutcome } from './sender.ts';

/** A message that may be sent. */
export interface Envelope {
  readonly kind: 'envelope';
  readonly message: DueMessage;
  readonly author: User;
  readonly recipient: User;
  readonly charge: CapCharge | undefined;
}

type DispatchDecision = Envelope | { readonly kind: 'outcome'; readonly outcome: MessageOutcome };

const recipientChanged = 'who had this name was removed; to mean who has it now, send it or save the rule again';

const paidChannels: readonly string[] = ['sms', 'voice', 'twitter'];
const dayMs = 86_400_000;

export class Dispatcher {
  readonly #store: MessageStore;
  readonly #users: Users;
  readonly #actuators: Actuators;
  readonly #accountMails: AccountMails;
  readonly #counters: NotificationCounters;
  readonly #clock: Clock;
  readonly #paidPerDayMax: number;

  constructor(parts: {
    readonly messageStore: MessageStore;
    readonly users: Users;
    readonly actuators: Actuators;
    readonly accountMails: AccountMails;
    readonly counters: NotificationCounters;
    readonly clock: Clock;
    /** Paid messages that may be counted for one user on a day. */
    readonly paidPerDayMax: number;
  }) {
    this.#store = parts.messageStore;
    this.#users = parts.users;
    this.#actuators = parts.actuators;
    this.#accountMails = parts.accountMails;
    this.#counters = parts.counters;
    this.#clock = parts.clock;
    this.#paidPerDayMax = parts.paidPerDayMax;
  }

  /**
   * Decides about a message.
   * @param charged counts paid messages that were decided in the same step and are not stored yet.
   */
  async prepare(
    message: DueMessage,
    sender: Sender | undefined,
    charged: Map<string, number>,
  ): Promise<DispatchDecision> {
    const author = await this.#users.findByKey(message.author);
    if (author === undefined) return outcome(message, 'failed', 'its author has gone');
    if (hiddenChannels.includes(message.channel)) {
      return { kind: 'envelope', message, author, recipient: author, charge: undefined };
    }
    const recipient = await this.#users.findByName(message.username);
    if (recipient === undefined || recipient.username === guestUsername) {
      return outcome(message, 'failed', 'no such user');
    }
    // The recipient's name may belong to another user by now, who must not get the message.
    if (message.isForFormerUser) return outcome(message, 'failed', `no such user: ${recipientChanged}`);
    const recipientRefusal = await this.#refusalOfRecipient(author, recipient);
    if (recipientRefusal !== undefined) return outcome(message, 'undelivered', recipientRefusal);
    // Before the caps, so that a message that cannot be sent counts for nobody.
    if (sender?.closedBecause !== undefined) return outcome(message, 'undelivered', sender.closedBecause);
    // A message that was tried before has been counted already.
    if (!paidChannels.includes(message.channel) || message.attempts > 0) {
      return { kind: 'envelope', message, author, recipient, charge: undefined };
    }
    const charge = { day: Math.floor(this.#clock.now() / dayMs), users: [...new Set([author.key, recipient.key])] };
    const capped = await this.#capped(charge, [author, recipient], charged);
    if (capped !== undefined) {
      this.#counters.capped += 1;
      const reason = `${capped.username} has reached the cap of ${this.#paidMaxOf(capped)} paid messages a day`;
      return outcome(message, 'undelivered', reason);
    }
    return { kind: 'envelope', message, author, recipient, charge };
  }

  /** Makes one attempt to send, under the lease of the outbox. @throws LeaseLost */
  async deliver(
    { message, author, recipient }: Envelope,
    sender: Sender | undefined,
    { stop, fence }: { readonly stop: AbortSignal; readonly fence: Fence },
  ): Promise<SendOutcome> {
    if (message.channel === actuatorChannel) return this.#set(author, message, fence);
    if (sender === undefined) return { kind: 'undelivered', reason: `nothing sends by ${message.channel}` };
    // Senders have their own time-outs; this one is for a sender that fails to keep its own.
    const signal = AbortSignal.any([stop, AbortSignal.timeout(limits.sendMsMax)]);
    if (message.channel === accountChannel) return this.#mail(author, message, { sender, signal });
    const { phone, email, twitter, telegram, webhook, webhookRotatedMs } = recipient;
    const to = {
      ...{ id: recipient.id, username: recipient.username, webhookVersion: recipient.webhookVersion },
      ...(webhookRotatedMs === undefined ? {} : { webhookRotatedMs }),
      ...(phone === undefined ? {} : { phone }),
      ...(email === undefined ? {} : { email }),
      ...(twitter === undefined ? {} : { twitter }),
      ...(telegram === undefined ? {} : { telegram }),
      ...(webhook === undefined ? {} : { webhook }),
    };
    const { id, text, occasion } = message;
    const about = occasion === undefined ? {} : { occasion };
    return sender.send({ id, channel: message.channel as Channel, to, text, ...about }, signal);
  }

  /** Sends a mail of the service itself, whose text and link are made now. */
  async #mail(
    user: User,
    { id, text }: DueMessage,
    { sender, signal }: { readonly sender: Sender; readonly signal: AbortSignal },
  ): Promise<SendOutcome> {
    const mail = JSON.parse(text) as AccountMail;
    const composed = await this.#accountMails.compose(user, mail);
    if ('reason' in composed) return { kind: 'undelivered', reason: composed.reason };
    const to = { id: user.id, username: user.username, webhookVersion: user.webhookVersion, email: mail.to };
    return sender.send({ id, channel: 'email', to, text: composed.text }, signal);
  }

  async #set(author: User, { text, rule }: DueMessage, fence: Fence): Promise<SendOutcome> {
    const { device_id, actuator_id, actuator_value } = JSON.parse(text) as ActuatorSetting;
    const origin = { door: 'rule', rule } as const;
    const actor = this.#users.actorOf(author);
    try {
      await this.#actuators.setValue(actor, device_id, actuator_id, actuator_value, { origin, fence });
      return { kind: 'sent', code: String(actuationStatus) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { kind: isTransient(error) ? 'retry' : 'failed', reason: error.message };
    }
  }

  /** Why the recipient does not accept messages of this author; undefined: they do. */
  async #refusalOfRecipient(author: User, recipient: User): Promise<string | undefined> {
    if (author.key === recipient.key || recipient.messages_from === undefined) return undefined;
    switch (recipient.messages_from) {
      case 'everyone':
        return undefined;
      case 'self':
        return `${recipient.username} takes no messages of others`;
      case 'sharers':
        if (await this.#store.shareDevice(author.key, recipient.key)) return undefined;
        return `${recipient.username} takes messages only of those they share a device with`;
    }
  }

  /**
   * Counts the message for its users in `charged`. Returns the user whose cap is reached, if any; then nothing is
   * counted.
   */
  async #capped(
    { day, users }: CapCharge,
    people: readonly User[],
    charged: Map<string, number>,
  ): Promise<User | undefined> {
    const counts = await this.#store.countPaid(day, users);
    const countOf = (user: UserKey) => (counts.get(user) ?? 0) + (charged.get(`${day} ${user}`) ?? 0);
    const capped = people.find((user) => countOf(user.key) >= this.#paidMaxOf(user));
    if (capped === undefined)
      for (const user of users) charged.set(`${day} ${user}`, (charged.get(`${day} ${user}`) ?? 0) + 1);
    return capped;
  }

  /** Paid messages that may be counted for the user on a day: the setting, or the credit that an admin gave if that is less. */
  #paidMaxOf({ smsCredit = Number.POSITIVE_INFINITY }: User): number {
    return Math.min(this.#paidPerDayMax, smsCredit);
  }
}

function outcome({ id }: DueMessage, state: 'failed' | 'undelivered', reason: string): DispatchDecision {
  return { kind: 'outcome', outcome: { id, state, reason } };
}
