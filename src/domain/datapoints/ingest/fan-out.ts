// The messages to MQTT subscribers that pushes cause after their commit. writer.ts asks about them, so that a
// publisher who causes more than its share waits, and nobody else does (I4). Implemented by
// mqtt/routing/delivery.ts.
import type { Caller } from '../../callers/caller.ts';
import type { Push } from './push.ts';

export interface FanOut {
  /** Bytes of the messages that these pushes will become, with the cost of handing them out; 0 without subscribers. */
  bytesOf(pushes: readonly Push[]): number;
  /** Whether `more` bytes are beyond the caller's share. False for a caller that has none on its way. */
  isFullFor(caller: Caller, more: number): boolean;
  /** Whether messages wait because what must be stored of them cannot be now. */
  readonly isHeldUp: boolean;
  /** Counts bytes from the acceptance of a push; `release` counts them back at its commit. */
  reserve(caller: Caller, bytes: number): void;
  release(caller: Caller, bytes: number): void;
}

/** For a service without subscribers. */
export const noFanOut: FanOut = {
  isHeldUp: false,
  bytesOf: () => 0,
  isFullFor: () => false,
  reserve: () => {},
  release: () => {},
};
