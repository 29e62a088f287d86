// Counts what a WebSocket gathers of a frame, or of a message in pieces, in the budget of what is received: it hands a
// message over when it has come whole, and until then the broker, which counts its packets, sees nothing of it. Called by
// mqtt-server.ts for each connection over WebSocket.
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { limits } from '../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../domain/callers/byte-budget.ts';
import type { Caller } from '../domain/callers/caller.ts';

/** What of a WebSocket its types do not show. */
interface Inside {
  readonly _receiver: {
    /** Bytes that have come and were not read as frames. */
    readonly _bufferedBytes: number;
    /** Bytes of the pieces of a message that is not whole. */
    readonly _messageLength: number;
  };
}

/** Bytes of a message that has not come whole. */
export function gatheredBytes(webSocket: WebSocket): number {
  const { _receiver: receiver } = webSocket as unknown as Inside;
  return receiver._bufferedBytes + receiver._messageLength;
}

export interface FrameParts {
  readonly socket: Duplex;
  readonly budget: ByteBudget;
  /** Who has signed in; before that little is gathered, or the connection is cut. */
  readonly callerOf: () => Caller | undefined;
}

/** Where its caller has its share nothing more is read until there is room, and where there is none in time it is cut. */
export function budgetFrames(webSocket: WebSocket, { socket, budget, callerOf }: FrameParts): void {
  let reservation: ByteReservation | undefined;
  const end = () => {
    reservation?.end();
    reservation = undefined;
  };
  const waitForRoom = async (waiting: ByteReservation, more: number) => {
    webSocket.pause();
    const isRoom = await budget.wait(waiting, more);
    if (reservation !== waiting) return;
    if (isRoom) webSocket.resume();
    else webSocket.terminate();
  };
  socket.once('close', end);
  // Behind the listener of the WebSocket itself, which has read this piece by now.
  socket.on('data', () => {
    const gathered = gatheredBytes(webSocket);
    if (gathered < limits.mqttCountedBytesMin) return end();
    const caller = reservation?.caller ?? callerOf();
    if (caller === undefined) {
      if (gathered > limits.connectPacketBytesMax + limits.earlyBytesMax) webSocket.terminate();
      return;
    }
    reservation ??= budget.begin(caller, () => webSocket.terminate());
    // The reader of the stream may have let it go on meanwhile.
    if (reservation.isWaiting) return webSocket.pause();
    const more = gathered - reservation.bytes;
    if (more < 0) reservation.count(more);
    else if (!budget.take(reservation, more)) void waitForRoom(reservation, more);
  });
}
