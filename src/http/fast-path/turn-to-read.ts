// A connection whose pushes were answered while many are under way is left unread until it is its caller's turn. Used by
// push-connection.ts.
import type { Socket } from 'node:net';
import { stopReading } from '../../base/network/stop-reading.ts';
import type { PushGroup } from './push-handler.ts';
import type { ReadingTurns } from './reading-turns.ts';

export class TurnToRead {
  readonly #turns: ReadingTurns;
  #start: (() => void) | undefined;

  constructor(turns: ReadingTurns) {
    this.#turns = turns;
  }

  /**
   * Leaves the socket unread, and calls `onTurn` when its turn has come. What has come already waits, too: who sends at once
   * what follows an answer does not go before those that wait.
   * @param answered its last pushes.
   * @returns false where it is read on at once, because few pushes are under way.
   */
  wait(socket: Socket, { caller, pushes }: PushGroup, onTurn: () => void): boolean {
    if (!this.#turns.isCrowded || caller === undefined) return false;
    this.#start = stopReading(socket);
    this.#turns.waitUnread(caller, pushes.length, onTurn);
    return true;
  }

  /** Reads on. */
  end(): void {
    this.#start?.();
    this.#start = undefined;
  }
}
