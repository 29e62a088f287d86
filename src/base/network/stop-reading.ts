// Leaves what a peer sends in the kernel. A socket that is only paused reads on until its buffer is full, so bytes that wait
// for their turn would wait on the heap. Used by http/fast-path/turn-to-read.ts.
import type { Duplex } from 'node:stream';

/** The handle of a socket of Node.js, which is private: `reading` tells Node.js whether it has to be started before the next read. */
interface Handle {
  reading: boolean;
  readStop(): number;
  readStart(): number;
}

/**
 * Stops reading. Bytes that have come already are still emitted, or stay buffered.
 * @returns what reads on, once. Where the socket has no such handle, it goes on reading until its buffer is full.
 */
export function stopReading(socket: Duplex): () => void {
  const handle = handleOf(socket);
  if (handle === undefined || !handle.reading) return nothing;
  handle.reading = false;
  handle.readStop();
  return () => {
    // It may have been closed, or started by Node.js.
    if (handleOf(socket) !== handle || handle.reading) return;
    handle.reading = true;
    // As Node.js does where it cannot be read.
    if (handle.readStart() !== 0) socket.destroy();
  };
}

const nothing = () => {};

function handleOf(socket: Duplex): Handle | undefined {
  const { _handle: handle } = socket as { readonly _handle?: Partial<Handle> | null };
  const isWhole =
    typeof handle?.reading === 'boolean' &&
    typeof handle.readStop === 'function' &&
    typeof handle.readStart === 'function';
  return isWhole && !socket.destroyed ? (handle as Handle) : undefined;
}
