// When the pushes of one connection have their turn while many are under way: with the bytes they came in, or unread in the kernel
// where the ones before were just answered. Used by push-connection.ts.
import type { Socket } from 'node:net';
import { stopReading } from '../../base/network/stop-reading.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { pushTurns } from '../../domain/callers/push-turns.ts';
import type { PushGroup } from './push-handler.ts';
import type { ReadingTurns } from './reading-turns.ts';

export class TurnToRead {
  readonly #turns: ReadingTurns;
  #leaveLine: (() => void) | undefined;
  #start: (() => void) | undefined;

  constructor(turns: ReadingTurns) {
    this.#turns = turns;
  }

  /** Whether pushes may be taken now. */
  get isNow(): boolean {
    return pushTurns.isOpen && this.#turns.hasRoom;
  }

  /** Calls `onTurn` in a later turn of the event loop: there was no time, or no room, for pushes of this caller. */
  waitWithBytes(caller: Caller, onTurn: () => void): void {
    if (this.#turns.hasRoom) pushTurns.wait(caller, onTurn);
    else this.#leaveLine = this.#turns.waitWithBytes(caller, onTurn);
  }

  /**
   * Leaves the socket unread, and calls `onTurn` when its turn has come. What has come already waits, too: who sends at once
   * what follows an answer does not go before those that wait.
   * @param answered its last pushes.
   * @returns false where it is read on at once, because few pushes are under way.
   */
  waitUnread(socket: Socket, { caller, pushes }: PushGroup, onTurn: () => void): boolean {
    if (!this.#turns.isCrowded || caller === undefined) return false;
    this.#start = stopReading(socket);
    this.#leaveLine = this.#turns.waitUnread(caller, pushes.length, onTurn);
    return true;
  }

  /** Reads on. */
  readOn(): void {
    this.#start?.();
    this.#start = undefined;
  }

  /** The connection has closed: no line keeps it. */
  leave(): void {
    this.#leaveLine?.();
    this.#leaveLine = undefined;
  }
}
