// The socket that ws is given in place of the one of the connection. It hands on received bytes piece by piece, each when it is
// the caller's turn: ws parses all frames of what it gets at once, and 64 KiB hold ten thousand empty ones. The next piece goes
// when the messages so far were read (ws pauses this socket until then), so that short ones, which take far more memory than
// their bytes, do not gather. It sees where messages end, too. Made by websockets.ts for each connection. Bounded by what one
// read of a socket takes (I4).
import { Duplex } from 'node:stream';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import { loopTurns } from '../domain/callers/loop-turns.ts';
import { WebSocketFrames } from './websocket-frames.ts';

type Done = (error?: Error | null) => void;

export interface WebSocketSocketParts {
  /** Whose turn it must be. */
  readonly callerOf: () => Caller;
  /** Called when a piece has been parsed. */
  readonly onParsed: () => void;
}

export class WebSocketSocket extends Duplex {
  readonly #socket: Duplex;
  readonly #frames = new WebSocketFrames();
  /** Undefined until the handshake is done: nothing is read before. */
  #parts: WebSocketSocketParts | undefined;
  /** Received, and not handed on yet. */
  #bytes: Buffer;
  #pieceBytes: number = limits.framePieceBytesMin;
  #isWanted = false;
  #isWaiting = false;
  #hasEnded = false;
  #isClosed = false;
  #isEndSaid = false;

  /** @param head what has come behind the request. */
  constructor(socket: Duplex, head: Buffer) {
    super({ readableHighWaterMark: 1, emitClose: true });
    this.#socket = socket;
    this.#bytes = head;
    socket.on('readable', () => this.#give());
    socket.on('end', () => {
      this.#hasEnded = true;
      this.#give();
    });
    socket.on('error', (error) => this.destroy(error));
    // What had arrived is parsed, because the last messages may be among it; nobody resumes a closed connection.
    socket.on('close', () => {
      this.#isClosed = true;
      this.#give();
    });
  }

  /** Bytes of a message that has begun and is not complete. */
  get begunBytes(): number {
    return this.#frames.begun;
  }

  /** Bytes go to ws from now on. */
  begin(parts: WebSocketSocketParts): void {
    this.#parts = parts;
    this.#give();
  }

  override _read(): void {
    this.#isWanted = true;
    // What is handed on from here would be parsed later, outside of the turn.
    process.nextTick(() => this.#give());
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: Done): void {
    this.#socket.write(bytes, encoding, done);
  }

  override _writev(chunks: { readonly chunk: Buffer; readonly encoding: BufferEncoding }[], done: Done): void {
    this.#socket.cork();
    for (const [n, { chunk, encoding }] of chunks.entries())
      this.#socket.write(chunk, encoding, n === chunks.length - 1 ? done : undefined);
    this.#socket.uncork();
  }

  override _final(done: Done): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#socket.destroy();
    done(error);
  }

  /** Hands on the next piece, where there is one, it is wanted, and it is the caller's turn. */
  #give(): void {
    const parts = this.#parts;
    if (parts === undefined || this.#isWaiting || this.destroyed) return;
    if (this.#bytes.length === 0) this.#bytes = (this.#socket.read() as Buffer | null) ?? this.#bytes;
    if (this.#bytes.length === 0) {
      this.#end();
      return;
    }
    if (this.#isClosed && this.isPaused()) this.resume();
    if (!this.#isWanted) return;
    if (loopTurns.isOpen) {
      this.#givePiece(parts);
      return;
    }
    this.#isWaiting = true;
    loopTurns.wait(parts.callerOf(), () => {
      this.#isWaiting = false;
      this.#give();
    });
  }

  #givePiece({ callerOf, onParsed }: WebSocketSocketParts): void {
    const piece = this.#bytes.subarray(0, this.#pieceBytes);
    this.#bytes = this.#bytes.subarray(piece.length);
    this.#isWanted = false;
    const beganMs = performance.now();
    this.#frames.take(piece);
    loopTurns.do(callerOf(), () => this.push(piece));
    const tookMs = performance.now() - beganMs;
    if (tookMs > limits.framePieceMsMax) this.#pieceBytes = limits.framePieceBytesMin;
    else this.#pieceBytes = Math.min(2 * this.#pieceBytes, limits.framePieceBytesMax);
    onParsed();
  }

  /** All that has come was handed on. */
  #end(): void {
    if (this.#isClosed) this.destroy();
    else if (this.#hasEnded && !this.#isEndSaid) {
      this.#isEndSaid = true;
      this.push(null);
    }
  }
}
