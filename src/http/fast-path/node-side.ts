// How Node.js's HTTP server gets the bytes of a connection: push-connection.ts puts itself in the place of these listeners.
import type { Socket } from 'node:net';

export interface NodeSide {
  /** Passes bytes to Node.js. */
  readonly data: (piece: Buffer) => void;
  /** Tells it of the end of input. */
  readonly end: () => void;
}

/** Name of Node.js's listener for the end of input. */
const endListener = 'bound socketOnEnd';

/** Node.js's listeners on a connection that it has just accepted; undefined where they are not as expected. */
export function nodeSideOf(socket: Socket): NodeSide | undefined {
  const [data, ...others] = socket.listeners('data') as ((piece: Buffer) => void)[];
  // The other 'end' listener is the socket's own.
  const ends = (socket.listeners('end') as (() => void)[]).filter(({ name }) => name === endListener);
  const [end] = ends;
  if (data === undefined || others.length > 0 || end === undefined || ends.length > 1) return undefined;
  return { data, end };
}
