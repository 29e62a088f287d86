// What a connection whose bytes come here first is doing, and the socket it is on. Used by push-connection.ts.
import type { Socket } from 'node:net';

/** A socket of Node.js's server, with a private field: true while Node.js must not be given anything. */
export type ServedSocket = Socket & { readonly _paused?: boolean };

/**
 * - `free`: the next byte begins a request.
 * - `storing`: pushes wait for their commit.
 * - `waiting`: pushes wait, unread, for room in the ingest queue or for a turn of the event loop.
 * - `node`: Node.js has a request that is incomplete or not answered.
 * - `full`: the client does not read its answers.
 * - `over`: the last answer was sent; further bytes are dropped.
 */
export type State = 'free' | 'storing' | 'waiting' | 'node' | 'full' | 'over';
