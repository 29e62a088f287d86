// The store of messages, as the domain needs it: messages that users list, and the outbox. Engines implement it.
// Messages are removed with their author.
import type { StepAfter } from '../../../base/in-batches.ts';
import type { Filter } from '../../devices/filter.ts';
import type { Fence } from '../../ports/coordination.ts';
import type { UserKey } from '../../users/user.ts';
import type { Message, MessageId, MessageState, NewMessage } from './message.ts';

export interface MessageQuery {
  /** Messages of this author; undefined: of all authors. */
  readonly author: UserKey | undefined;
  readonly filter: Filter;
}

/** A message that is to be sent now. */
export interface DueMessage {
  readonly id: MessageId;
  readonly author: UserKey;
  /** The id of the rule that it is of; absent for one sent by hand, and where the rule was removed. */
  readonly rule?: string;
  readonly username: string;
  readonly channel: string;
  readonly text: string;
  /** What it is about, as JSON, where its channel carries that. */
  readonly occasion?: string;
  /** Attempts so far. */
  readonly attempts: number;
  /** Whether its recipient was removed since; another user may have the name now. */
  readonly isForFormerUser: boolean;
}

/** The result of an attempt, or the reason why a message was not attempted. */
export interface MessageOutcome {
  readonly id: MessageId;
  readonly state: MessageState;
  readonly reason?: string | undefined;
  readonly code?: string | undefined;
  /** When the next attempt is due, for a queued message. */
  readonly dueMs?: number | undefined;
  /** The charge to be taken back, because the message was not sent. */
  readonly refund?: CapCharge | undefined;
}

/** A paid message counts for these users on this day. */
export interface CapCharge {
  /** Days since 1970 UTC. */
  readonly day: number;
  readonly users: readonly UserKey[];
}

export interface Claim {
  readonly id: MessageId;
  readonly charge?: CapCharge | undefined;
}

type MessagePage = Omit<StepAfter<Message>, 'after'> & { readonly after?: Message | undefined };

export interface MessageStore {
  find(id: MessageId): Promise<Message | undefined>;
  /** Newest first; of those older than `after` where that is given. */
  list(query: MessageQuery & MessagePage): Promise<Message[]>;
  count(query: MessageQuery): Promise<number>;
  create(author: UserKey, messages: readonly NewMessage[]): Promise<void>;
  remove(id: MessageId): Promise<void>;

  /** Queues messages again whose attempt was interrupted when the last holder of the lease ended. @throws LeaseLost */
  requeue(fence: Fence): Promise<void>;
  /** Makes waiting messages due at `nowMs` that are due later than `laterThanMs`. @throws LeaseLost */
  hasten(times: { readonly nowMs: number; readonly laterThanMs: number }, fence: Fence): Promise<void>;
  /** Waiting messages of a channel that are due, oldest first, except those of the authors in `without`. */
  listDue(query: {
    readonly channel: string;
    readonly nowMs: number;
    readonly limit: number;
    readonly without: readonly UserKey[];
  }): Promise<DueMessage[]>;
  /** When the next waiting message is due; undefined: none waits. */
  nextDueMs(channel: string): Promise<number | undefined>;
  /** Number of waiting messages by channel. */
  countWaiting(): Promise<Map<string, number>>;
  /**
   * In one unit: marks messages as being sent, before anything leaves the service, and stores the outcomes of others.
   * @returns the ids that were marked; a message that was removed meanwhile is not among them.
   * @throws LeaseLost where another process has taken the lease since; that one sends these messages again.
   */
  settle(work: {
    readonly claims: readonly Claim[];
    readonly outcomes: readonly MessageOutcome[];
    readonly atMs: number;
    /** The lease under which the messages were taken. */
    readonly fence: Fence;
  }): Promise<ReadonlySet<MessageId>>;
  /**
   * Paid messages counted for each of the users on the day. They are counted in the registry when messages are
   * claimed, under the lease of the outbox, so the cap holds however many processes there are.
   */
  countPaid(day: number, users: readonly UserKey[]): Promise<Map<UserKey, number>>;
  /** Whether one of the two has shared a device with the other. */
  shareDevice(one: UserKey, other: UserKey): Promise<boolean>;
}
