// Gives received bytes to Node.js's HTTP server in short pieces while there is time in this turn of the event loop: 64 KiB can
// hold ten thousand chunks of a body. The rest is put back until the next turn, or until Node.js reads on. Used by
// push-connection.ts for connections that Node.js has for good.
import type { Socket } from 'node:net';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';

export interface GiveTo {
  readonly socket: Socket;
  readonly caller: () => Caller;
  /** Passes a piece to Node.js. */
  readonly give: (piece: Buffer) => void;
  /** Listens to the socket for as long as Node.js is given its bytes. */
  readonly listener: (piece: Buffer) => void;
  /** Puts bytes back into the socket, to be read later. */
  readonly hold: (piece: Buffer) => void;
  /** Resumes the socket. */
  readonly readOn: () => void;
}

export function giveInTurns(bytes: Buffer, { socket, caller, give, listener, hold, readOn }: GiveTo): void {
  let at = 0;
  while (at < bytes.length && !socket.destroyed) {
    const listeners = socket.rawListeners('data');
    if (!listeners.includes(listener)) {
      // Another listener has taken the connection over; it was given the bytes so far as all there are, so it would
      // miss the rest, and the connection is cut. Without a listener, Node.js has found a fault and reads no more.
      if (listeners.length > 0) socket.destroy();
      return;
    }
    // Node.js pauses a socket whose request it cannot read now, and resumes it later.
    const isHeld = at > 0 && socket.isPaused();
    if (isHeld || !loopTurns.isOpen) {
      hold(bytes.subarray(at));
      if (!isHeld) loopTurns.wait(caller(), readOn);
      return;
    }
    const piece = bytes.subarray(at, at + limits.parserPieceBytes);
    at += piece.length;
    loopTurns.do(caller(), () => give(piece));
  }
}
