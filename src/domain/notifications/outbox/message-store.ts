// What messages need remembered: those one can look at, and the outbox from which they go. They go with their author.
import type { Filter } from '../../devices/filter.ts';
import type { UserKey } from '../../users/user.ts';
import type { Message, MessageId, MessageState, NewMessage } from './message.ts';

export interface MessageQuery {
  /** Whose; undefined: everybody's. */
  readonly author: UserKey | undefined;
  readonly filter: Filter;
}

/** A message that is to be tried now. */
export interface DueMessage {
  readonly id: MessageId;
  readonly author: UserKey;
  readonly username: string;
  readonly channel: string;
  readonly text: string;
  /** Tries so far. */
  readonly attempts: number;
}

/** What became of a try, or of a message that was not tried. */
export interface MessageOutcome {
  readonly id: MessageId;
  readonly state: MessageState;
  readonly reason?: string | undefined;
  readonly code?: string | undefined;
  /** When to try again, of one that is queued. */
  readonly dueMs?: number | undefined;
  /** Users whose cap of paid messages it does not count for after all. */
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

export interface MessageStore {
  find(id: MessageId): Promise<Message | undefined>;
  /** Newest first. */
  list(query: MessageQuery & { readonly limit: number; readonly offset: number }): Promise<Message[]>;
  count(query: MessageQuery): Promise<number>;
  create(author: UserKey, messages: readonly NewMessage[]): Promise<void>;
  remove(id: MessageId): Promise<void>;

  /** Has those that were being tried when the service ended tried again. */
  requeue(): Promise<void>;
  /** Messages of a channel that wait and are due, oldest first, leaving out those of these authors. */
  listDue(query: {
    readonly channel: string;
    readonly nowMs: number;
    readonly limit: number;
    readonly without: readonly UserKey[];
  }): Promise<DueMessage[]>;
  /** When the next message is due that waits; undefined: none does. */
  nextDueMs(channel: string): Promise<number | undefined>;
  /** How many wait, by channel. */
  countWaiting(): Promise<Map<string, number>>;
  /**
   * In one unit: marks messages as being tried, before anything leaves the service, and writes what became of others.
   * @returns those that were claimed; one that was removed meanwhile is not.
   */
  settle(work: {
    readonly claims: readonly Claim[];
    readonly outcomes: readonly MessageOutcome[];
    readonly atMs: number;
  }): Promise<ReadonlySet<MessageId>>;
  /** Paid messages that count for each of the users on the day. */
  countPaid(day: number, users: readonly UserKey[]): Promise<Map<UserKey, number>>;
  /** True when one of the two has shared a device with the other. */
  shareDevice(one: UserKey, other: UserKey): Promise<boolean>;
}
