// The unit among which scarce things are shared: a signed-in user, or for guests an address. Every actor carries its
// caller, which holds the counts, so that the hot path needs no look-up; only fair-share.ts changes them. Counts are
// never negative.
import type { GuestUsage } from './guest-usage.ts';
import { RecentWork } from './recent-work.ts';

/** The scarce things. */
const sharedResources = [
  /** Open connections. */
  'connections',
  /** Bytes of everything on its way in or out: the sum of those below whose name ends in Bytes. */
  'passingBytes',
  /** Bytes of incomplete request bodies and MQTT packets. */
  'bodyBytes',
  /** Incomplete ones that wait for memory. */
  'bodyWaiters',
  /** Imports under way. */
  'imports',
  /** Password hashes in the queue. */
  'hashes',
  /** Long reads in the queue. */
  'reads',
  /** Bytes of answers that clients have not read yet. */
  'answerBytes',
  /** Bytes for MQTT subscribers whose sockets are full. */
  'unreadBytes',
  /** Live streams, and bytes that wait in them. */
  'liveStreams',
  'liveBytes',
  /** Bytes for MQTT subscribers whose sockets are not full. */
  'backlogBytes',
  /** Bytes of messages that are on their way to MQTT subscribers, by who published them. */
  'deliveryBytes',
  /** Datapoints that wait for their commit, and their bytes; bytes of MQTT publishes that wait for the queue. */
  'queuedDatapoints',
  'queuedBytes',
  'capacityWaiterBytes',
] as const;
export type SharedResource = (typeof sharedResources)[number];

/** The beginning of the key of a caller without an account. */
export const addressKeyPrefix = 'address ';

export class Caller {
  /**
   * A user's id, or `address …` with the result of `canonicalAddress`. Also identifies the caller's Idempotency-Keys.
   */
  readonly key: string;
  /** Amounts held, by `resourceIndex`. */
  readonly held: number[] = sharedResources.map(() => 0);
  /** The main thread's time that its work took lately. */
  readonly recentWork = new RecentWork();
  /**
   * The writer's round in which a push of the caller was refused: in that round all further pushes are too (writer.ts).
   */
  refusedInRound = 0;
  /** What an address has used today of guest's quotas; undefined for users and before the first use. */
  ofGuest: GuestUsage | undefined;

  constructor(key: string) {
    this.key = key;
  }

  /** Whether it is a guest: an address, not a user. */
  get isGuest(): boolean {
    return this.key.startsWith('address ');
  }

  get isHolding(): boolean {
    return this.held.some((amount) => amount > 0);
  }
}

/** The index in `held` of a scarce thing. */
export function resourceIndex(thing: SharedResource): number {
  return sharedResources.indexOf(thing);
}
