// Counts incomplete frames and messages of a WebSocket in the budget of received bytes: the reader of packets, which counts
// those, sees a message only when it is complete. Called by websockets.ts for each connection.
import type { WebSocket } from 'ws';
import { limits } from '../config/limits.ts';
import type { ByteBudget, ByteReservation } from '../domain/callers/byte-budget.ts';
import type { Caller } from '../domain/callers/caller.ts';
import type { WebSocketSocket } from './websocket-socket.ts';

export interface FrameParts {
  readonly socket: WebSocketSocket;
  readonly budget: ByteBudget;
  /** The signed-in caller; before the sign-in little may be gathered, or the connection is cut. */
  readonly callerOf: () => Caller | undefined;
}

/**
 * Where the caller's share is used up, reading pauses until there is room; where there is none in time, the connection
 * is cut.
 * @returns a function that counts, to be called whenever received bytes have been parsed.
 */
export function budgetFrames(webSocket: WebSocket, { socket, budget, callerOf }: FrameParts): () => void {
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
  return () => {
    const gathered = socket.begunBytes;
    // Bytes that arrived before a connection closed are parsed after that: nothing would end a reservation begun then.
    if (socket.destroyed || gathered < limits.mqttCountedBytesMin) return end();
    const caller = reservation?.caller ?? callerOf();
    if (caller === undefined) {
      if (gathered > limits.connectPacketBytesMax + limits.earlyBytesMax) webSocket.terminate();
      return;
    }
    reservation ??= budget.begin(caller, () => webSocket.terminate());
    // The stream may have been resumed by its reader meanwhile.
    if (reservation.isWaiting) return webSocket.pause();
    const more = gathered - reservation.bytes;
    if (more < 0) reservation.count(more);
    else if (!budget.take(reservation, more)) void waitForRoom(reservation, more);
  };
}
