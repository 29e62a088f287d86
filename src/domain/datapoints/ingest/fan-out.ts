// What pushes set off behind their commit: messages to MQTT subscribers. Asked by writer.ts, so that who publishes more than
// its share of them waits, and nobody else does (I4).
import type { Caller } from '../../callers/caller.ts';
import type { Push } from './push.ts';

export interface FanOut {
  /** Bytes of the messages that these pushes will be for their subscribers, and of handing them out; 0 without any. */
  bytesOf(pushes: readonly Push[]): number;
  /** Whether so much more would be beyond the caller's share; never where it has nothing on its way. */
  isFullFor(caller: Caller, more: number): boolean;
  /** Counts pushes from their acceptance until their commit. */
  reserve(caller: Caller, bytes: number): void;
  release(caller: Caller, bytes: number): void;
}

/** For a service without subscribers. */
export const noFanOut: FanOut = { bytesOf: () => 0, isFullFor: () => false, reserve: () => {}, release: () => {} };
