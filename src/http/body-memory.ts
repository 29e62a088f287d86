// Memory for large bodies that is used again and again: a few buffers, each for one body at a time, from its first piece
// until it has been read. In memory of its own each piece and each body would outlive some collections, and lie about by the
// hundred megabytes until the engine looks among what is old. Used by bodies.ts.
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyRequest } from 'fastify';
import { limits } from '../config/limits.ts';

/** Those that hold no body now. */
const free: Buffer[] = [];
let made = 0;

/** A body as it comes in. */
class Gathering {
  readonly #wantsMemory: boolean;
  #memory: Buffer | undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** Small bodies, those of unknown length, and those for which no memory is left come in pieces. */
  constructor(length: number) {
    this.#wantsMemory = length > limits.bodyMemoryBytesMin && length <= limits.bodyMemoryBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when it is more than was said. */
  add(piece: Buffer): boolean {
    // Not before something comes: it may be that nothing ever does, and nobody says so.
    if (this.#wantsMemory && this.#bytes === 0) this.#memory = free.pop() ?? make();
    const memory = this.#memory;
    this.#bytes += piece.length;
    if (memory === undefined) this.#pieces.push(piece);
    else if (this.#bytes > memory.length) return false;
    else piece.copy(memory, this.#bytes - piece.length);
    return true;
  }

  /** Good until `end`. */
  whole(): Buffer {
    return this.#memory?.subarray(0, this.#bytes) ?? Buffer.concat(this.#pieces);
  }

  end(): void {
    this.#pieces = [];
    if (this.#memory !== undefined) free.push(this.#memory);
    this.#memory = undefined;
  }
}

function make(): Buffer | undefined {
  if (made >= limits.bodyMemories) return undefined;
  made += 1;
  return Buffer.allocUnsafeSlow(limits.bodyMemoryBytes);
}

/**
 * Reads the body of a request; `take` has it for as long as it runs, and what it gives is handed to `done`, which also
 * gets what it throws.
 */
export function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  {
    take,
    done,
  }: { readonly take: (body: Buffer) => unknown; readonly done: (error: Error | null, taken?: unknown) => void },
): void {
  const length = Number(request.headers['content-length']);
  if (length > limits.bodyBytesMax) {
    done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE());
    return;
  }
  const gathering = new Gathering(length);
  let isOver = false;
  const end = (finish: () => void): void => {
    if (isOver) return;
    isOver = true;
    payload.removeListener('data', onData);
    try {
      finish();
    } finally {
      gathering.end();
    }
  };
  const onData = (piece: Buffer): void => {
    if (gathering.add(piece) && gathering.bytes <= limits.bodyBytesMax) return;
    end(() => done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE()));
  };
  payload.on('data', onData);
  payload.once('end', () =>
    end(() => {
      if (!Number.isNaN(length) && gathering.bytes !== length) {
        done(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH());
        return;
      }
      let taken: unknown;
      try {
        taken = take(gathering.whole());
      } catch (error) {
        done(error as Error);
        return;
      }
      done(null, taken);
    }),
  );
  payload.once('error', (error: Error) => end(() => done(Object.assign(error, { statusCode: 400 }))));
  payload.once('close', () => end(() => {}));
  payload.resume();
}
