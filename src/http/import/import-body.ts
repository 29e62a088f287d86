// The body of an import as it arrives: pieces of text in the caller's charset, or a JSON array. Text is not gathered,
// so a file may be larger than memory allows. Used by v2/datapoints/imports.ts.
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { jsonTextOf, parseJsonItems } from '../../base/text/json-text.ts';
import { limits } from '../../config/limits.ts';
import type { ByteReservation } from '../../domain/callers/byte-budget.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import { readBody } from '../server/body-reading.ts';
import type { FileKind } from './import-plan.ts';

export class ImportBody {
  readonly kind: FileKind;
  /** Of JSON: the whole text. */
  #json: string | undefined;
  readonly #stream: IncomingMessage | undefined;
  readonly #charset: string;
  /** Begins a reservation while the import waits for more of the stream; it cuts a sender that stalls. */
  readonly #waiting: (() => ByteReservation) | undefined;

  constructor(
    kind: FileKind,
    content:
      | { readonly json: string }
      | { readonly stream: IncomingMessage; readonly charset: string; readonly waiting: () => ByteReservation },
  ) {
    this.kind = kind;
    this.#json = 'json' in content ? content.json : undefined;
    this.#stream = 'json' in content ? undefined : content.stream;
    this.#charset = 'json' in content ? 'utf-8' : content.charset;
    this.#waiting = 'json' in content ? undefined : content.waiting;
  }

  /**
   * Of JSON: all entries of the array, parsed in the turns of the caller; else none.
   * @throws Refusal `malformed`, `too-large`
   */
  async readItems(caller: Caller): Promise<readonly Json[]> {
    const items: Json[] = [];
    const json = this.#json;
    if (json === undefined) return items;
    // The body lives as long as its request.
    this.#json = undefined;
    await loopTurns.goThrough(caller, parseJsonItems(json, limits.nestingLevelsMax + 1, items));
    return items;
  }

  /** @throws Refusal `malformed`, `too-large`, also while reading. */
  async *texts(): AsyncGenerator<string> {
    if (this.#stream === undefined) return;
    const decoder = new TextDecoder(this.#charset, { fatal: true });
    const decode = (bytes?: Uint8Array) => {
      try {
        return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true });
      } catch (error) {
        const advice =
          'If an older Windows wrote it, name its charset, windows-1252: in Content-Type, or by --encoding.';
        throw new Refusal('malformed', `The file is not in ${this.#charset.toUpperCase()}. ${advice}`, {
          cause: error,
        });
      }
    };
    let bytes = 0;
    // Joins short pieces, because readers examine an unfinished line again with each piece.
    let gathered = '';
    let failure: Refusal | undefined;
    try {
      // Ending the iteration must not destroy the connection, which has to carry the answer.
      for await (const chunk of this.#pieces(this.#stream)) {
        bytes += (chunk as Buffer).length;
        if (bytes > limits.importBodyBytesMax)
          throw new Refusal('too-large', 'The file is larger than 1 GiB. Send it in parts.');
        gathered += decode(chunk as Buffer);
        if (gathered.length < limits.importPieceChars) continue;
        yield gathered;
        gathered = '';
      }
    } catch (error) {
      failure =
        error instanceof Refusal
          ? error
          : new Refusal('malformed', 'The file broke off before its end.', { cause: error });
    }
    if (gathered !== '') yield gathered;
    if (failure !== undefined) throw failure;
    yield decode();
  }

  /** The pieces as they arrive; only time spent waiting counts as the sender's silence. */
  async *#pieces(stream: IncomingMessage): AsyncGenerator<unknown> {
    const pieces = stream.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
    try {
      for (;;) {
        const waiting = this.#waiting?.();
        const next = await pieces.next().finally(() => waiting?.end());
        if (next.done === true) return;
        yield next.value;
      }
    } finally {
      await pieces.return?.();
    }
  }

  /** Drops the rest of the body. */
  close(): void {
    this.#stream?.resume();
  }
}

const types = {
  'text/csv': 'csv',
  'text/plain': 'csv',
  'text/tab-separated-values': 'csv',
  'application/x-ndjson': 'ndjson',
  'application/ndjson': 'ndjson',
  'application/jsonl': 'ndjson',
} as const;
const charsets = ['utf-8', 'utf8', 'us-ascii', 'windows-1252', 'iso-8859-1', 'latin1', 'utf-16le', 'utf-16'];

export function registerImportParsers(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request: FastifyRequest, payload: IncomingMessage, done) => {
    const take = (body: Buffer): ImportBody => new ImportBody('json', { json: jsonTextOf(body) });
    readBody(request, payload, { take, done });
  });
  for (const [type, kind] of Object.entries(types)) {
    app.addContentTypeParser(type, (request, stream, done) => {
      try {
        done(null, new ImportBody(kind, { stream, charset: charsetOf(request), waiting: waitingOf(request, stream) }));
      } catch (error) {
        done(error as Error);
      }
    });
  }
}

function waitingOf(request: FastifyRequest, stream: IncomingMessage): () => ByteReservation {
  const { byteBudget } = request.server;
  return () => byteBudget.begin(request.actor.caller, () => stream.destroy());
}

function charsetOf(request: FastifyRequest): string {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Refusal('unsupported', `Files are taken as they are, not in the encoding ${encoding}.`);
  }
  if (Number(request.headers['content-length'] ?? 0) > limits.importBodyBytesMax) {
    throw new Refusal('too-large', 'The file is larger than 1 GiB. Send it in parts.');
  }
  const type = request.headers['content-type'] ?? '';
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)"?/i.exec(type)?.[1]?.toLowerCase() ?? 'utf-8';
  if (charsets.includes(charset)) return charset;
  throw new Refusal('unsupported', `The charset ${charset} is not known. There are ${charsets.join(', ')}.`);
}
