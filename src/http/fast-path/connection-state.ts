// What a connection whose bytes come here first is doing, and how its paused socket is read on. Used by push-connection.ts.
import type { Socket } from 'node:net';

/** A socket of Node.js's server, with a private field: true while Node.js must not be given anything. */
export type ServedSocket = Socket & { readonly _paused?: boolean };

/**
 * - `free`: the next byte begins a request.
 * - `storing`: pushes wait for their commit.
 * - `waiting`: pushes wait, unread, for room in the ingest queue, for a turn of the event loop, or for room in the framework.
 * - `unread`: its pushes were answered; what comes next is left in the kernel until its turn.
 * - `node`: Node.js has a request that is incomplete or not answered.
 * - `full`: the client does not read its answers.
 * - `over`: the last answer was sent; further bytes are dropped.
 */
export type State = 'free' | 'storing' | 'waiting' | 'unread' | 'node' | 'full' | 'over';

/**
 * Takes all that has come meanwhile as one piece; a socket that is only resumed gives it piece by piece as it was read. Then
 * each piece would wait for a commit of its own, the client would answer each answer with as small a piece, and a window that
 * was once cut into pieces would stay so.
 * @param goesOn whether the connection takes more, now that it has that.
 */
export function takeAllHeld(socket: ServedSocket, goesOn: () => boolean): void {
  // The socket is paused: its own 'data' event has everything.
  socket.read();
  // What was put back waits for its turn.
  if (goesOn() && socket.readableLength === 0 && socket._paused !== true) socket.resume();
}

/** Whether the service has, or may have, pushes of the connection that it has not answered. */
export function mayOweAnswers(state: State): boolean {
  return state === 'storing' || state === 'waiting' || state === 'unread';
}
