// The state of a reconnected session while its stored messages are replayed.
import type { Delivered } from './delivered.ts';

export class SessionReplay {
  /** Numbers of the messages from the store. Bounded by limits.sessionMessagesMax. */
  readonly numbers = new Set<number>();
  /** New messages that wait until the replay has ended, in order. */
  readonly held: Delivered[] = [];
  heldBytes = 0;
  /** Keys of actuators whose queued settings are sent. Bounded as `numbers`. */
  readonly actuators = new Set<number>();
}
