// The unit among which scarce things are shared: a signed-in user, or for guests an address. Every actor carries its
// caller, which holds the amounts, so that the hot path needs no look-up. Only fair-share.ts changes the amounts;
// they are never negative.
import type { GuestUsage } from './guest-usage.ts';
import { RecentWork } from './recent-work.ts';

/** The scarce things. */
const sharedResources = [
  /** Open connections. */
  'connections',
  /** Bytes of everything on its way in or out: the sum of all kinds of bytes below but `deliveryBytes`. */
  'passingBytes',
  /** Bytes of incomplete request bodies and MQTT packets. */
  'bodyBytes',
  /** Incomplete bodies and packets that wait for memory. */
  'bodyWaiters',
  /** Imports in progress. */
  'imports',
  /** Password hashes in the queue. */
  'hashes',
  /** Long reads in the queue. */
  'reads',
  /** Removals and corrections of datapoints in the queue. */
  'edits',
  'questions',
  /** Bytes of answers that clients have not read yet. */
  'answerBytes',
  /** Bytes for MQTT subscribers whose sockets are full. */
  'unreadBytes',
  /** Live streams, and bytes that wait in them. */
  'liveStreams',
  'liveBytes',
  /** Live streams of alarms. */
  'alarmStreams',
  /** Bytes for MQTT subscribers whose sockets are not full. */
  'backlogBytes',
  /** Bytes of messages that are on their way to MQTT subscribers, by who published them. */
  'deliveryBytes',
  /** Datapoints that wait for their commit, and their bytes; bytes of MQTT publishes that wait for the queue. */
  'queuedDatapoints',
  'queuedBytes',
  /** MQTT messages among them. */
  'queuedMessages',
  'capacityWaiterBytes',
] as const;
export type SharedResource = (typeof sharedResources)[number];

/** The beginning of the key of a caller without an account. */
export const addressKeyPrefix = 'address ';

/** Whose pieces of work take turns on the main thread with those of others (loop-turns.ts). */
export interface TurnTaker {
  readonly recentWork: RecentWork;
}

export class Caller implements TurnTaker {
  /**
   * A user's id, or `address …` with the result of `canonicalAddress`. Idempotency-Keys belong to this key, too.
   */
  readonly key: string;
  /** Amounts held, by `resourceIndex`. */
  readonly held: number[] = sharedResources.map(() => 0);
  /** How much time of the main thread its work took lately. */
  readonly recentWork = new RecentWork();
  /**
   * For its sign-ins over MQTT, which have turns of their own: when a fleet comes back at once, a request from the same
   * address or account waits for none of them.
   */
  readonly signIns: TurnTaker = { recentWork: this.recentWork };
  /**
   * The writer's round in which a push of the caller was refused. All its further pushes of that round are refused
   * too (writer.ts).
   */
  refusedInRound = 0;
  /** What an address has used of guest's quotas today; undefined for users, and before the first use. */
  ofGuest: GuestUsage | undefined;

  constructor(key: string) {
    this.key = key;
  }

  /** Whether the caller is a guest: an address, not a user. */
  get isGuest(): boolean {
    return this.key.startsWith(addressKeyPrefix);
  }

  /** Whether the caller holds any scarce thing, so that it must not be dropped. */
  get isHolding(): boolean {
    return this.held.some((amount) => amount > 0);
  }
}

/** The index of a scarce thing in `held`. */
export function resourceIndex(thing: SharedResource): number {
  return sharedResources.indexOf(thing);
}
