// A session that came back, while it gets what was kept for it.
import type { AedesPublishPacket } from 'aedes';

export class SessionReplay {
  /** Numbers of the messages that came from the store. Bounded by limits.sessionMessagesMax. */
  readonly numbers = new Set<number>();
  /** New messages that wait for their turn, in order. */
  readonly held: AedesPublishPacket[] = [];
  heldBytes = 0;
  /** New ones that its user may not have. */
  readonly denied = new WeakSet<object>();
}
