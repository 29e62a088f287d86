// Gives the bytes of a WebSocket to its parser piece by piece, each when it is the caller's turn: ws parses all frames
// of what has arrived at once, and 64 KiB hold ten thousand empty ones. Parsing goes on when the messages so far were
// read, so that short ones, which take far more memory than their bytes, do not gather. Called by websockets.ts for
// each connection. Bounded by what one read of a socket takes (I4).
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import { loopTurns } from '../domain/callers/loop-turns.ts';

type Done = (error?: Error | null) => void;
type Write = (bytes: Buffer, encoding: BufferEncoding, done: Done) => void;

/** Fields of a WebSocket that its types do not declare. */
interface Inside {
  readonly _receiver: { _write: Write };
}

export interface FrameTurnsParts {
  readonly socket: Duplex;
  /** Whose turn it must be. */
  readonly callerOf: () => Caller;
  /** Called when all bytes that arrived together have been parsed. */
  readonly onParsed: () => void;
}

/** Replaces how the WebSocket parses received bytes; call it once, before bytes arrive. */
export function parseFramesInTurns(webSocket: WebSocket, { socket, callerOf, onParsed }: FrameTurnsParts): void {
  const { _receiver: receiver } = webSocket as unknown as Inside;
  const parse = receiver._write.bind(receiver);
  const resume = webSocket.resume.bind(webSocket);
  let pieceBytes: number = limits.framePieceBytesMin;
  let onResume: (() => void) | undefined;
  let isClosed = false;
  const wake = () => {
    const goOn = onResume;
    onResume = undefined;
    goOn?.();
  };
  // ws calls this when all messages have been read, and websocket-bytes.ts when there is room for more.
  webSocket.resume = () => {
    resume();
    wake();
  };
  // Nobody resumes a closed connection; what had arrived is parsed, because the last messages may be among it.
  socket.once('close', () => {
    isClosed = true;
    wake();
  });
  /** Parses a piece; @returns false where `done` has been, or will be, called instead. */
  const parsePiece = (piece: Buffer, encoding: BufferEncoding, done: Done): boolean => {
    const beganMs = performance.now();
    let isParsed = false;
    loopTurns.do(callerOf(), () =>
      parse(piece, encoding, (error) => {
        isParsed = !error;
        if (error) done(error);
      }),
    );
    const tookMs = performance.now() - beganMs;
    if (tookMs > limits.framePieceMsMax) pieceBytes = limits.framePieceBytesMin;
    else pieceBytes = Math.min(2 * pieceBytes, limits.framePieceBytesMax);
    return isParsed;
  };
  receiver._write = (bytes, encoding, done) => {
    let at = 0;
    const goOn = (): void => {
      while (at < bytes.length) {
        if (webSocket.isPaused && !isClosed) {
          onResume = goOn;
          return;
        }
        if (!loopTurns.isOpen) {
          loopTurns.wait(callerOf(), goOn);
          return;
        }
        const piece = bytes.subarray(at, at + pieceBytes);
        at += piece.length;
        if (!parsePiece(piece, encoding, done)) return;
      }
      onParsed();
      done();
    };
    goOn();
  };
}
