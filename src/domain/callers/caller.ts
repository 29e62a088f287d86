// Among whom scarce things are shared out: a signed-in user, or for guests an address. Every actor carries its caller.
// What a caller holds of each scarce thing is counted in it, so that the hot path looks up nothing; fair-share.ts alone
// changes these counts. Keeps true: no count is ever negative.
import type { GuestUsage } from './guest-usage.ts';

/** The scarce things that are shared out. */
const sharedResources = [
  /** Open connections. */
  'connections',
  /** Bytes of all that is on its way in or out: the things below whose name ends in Bytes, together. */
  'passingBytes',
  /** Bytes of request bodies and MQTT packets that have not come whole. */
  'bodyBytes',
  /** Those of them that wait for room. */
  'bodyWaiters',
  /** Imports under way. */
  'imports',
  /** Password hashes that wait. */
  'hashes',
  /** Long reads that wait. */
  'reads',
  /** Bytes of answers that wait for their readers. */
  'answerBytes',
  /** Bytes that wait for MQTT subscribers whose connections take no more. */
  'unreadBytes',
  /** Live streams, and bytes that wait in them. */
  'liveStreams',
  'liveBytes',
  /** Bytes that wait for MQTT subscribers whose connections still take more. */
  'backlogBytes',
  /** Datapoints, and their bytes, that wait for their commit; bytes of MQTT publishes that wait to be among them. */
  'queuedDatapoints',
  'queuedBytes',
  'capacityWaiterBytes',
] as const;
export type SharedResource = (typeof sharedResources)[number];

export class Caller {
  /** A user's id, or `address …` with what `canonicalAddress` makes of it. Idempotency-Keys of the caller are kept under it. */
  readonly key: string;
  /** What the caller holds of each scarce thing; `slotOf` says where. */
  readonly held: number[] = sharedResources.map(() => 0);
  /** The round of the writer in which a push of the caller was refused: until the next, all others are too (writer.ts). */
  refusedInRound = 0;
  /** What an address has taken of what guests have together; undefined for users, and while it is nothing. */
  ofGuest: GuestUsage | undefined;

  constructor(key: string) {
    this.key = key;
  }

  get isHolding(): boolean {
    return this.held.some((amount) => amount > 0);
  }
}

/** Where in `held` a thing is counted. */
export function resourceIndex(thing: SharedResource): number {
  return sharedResources.indexOf(thing);
}
