// JSON of any length, sent piece by piece, each when the one before has gone out: constant memory.
import { Readable } from 'node:stream';

/** The text of an array, in pieces; the text of an entry may come in pieces itself. */
export async function* arrayText<T>(
  entries: AsyncIterable<T>,
  textOf: (entry: T) => string | AsyncIterable<string>,
): AsyncGenerator<string> {
  let piece = '[';
  let isFirst = true;
  for await (const entry of entries) {
    if (!isFirst) piece += ',';
    isFirst = false;
    const text = textOf(entry);
    if (typeof text === 'string') {
      piece += text;
    } else {
      yield piece;
      piece = '';
      yield* text;
    }
    if (piece.length < pieceCharsMin) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}]`;
}

/** Answers with JSON whose text comes in pieces. What fails on the way cuts the answer, so that nobody takes a part for the whole. */
export function sendJsonText(
  reply: { type(type: string): { send(payload: unknown): unknown } },
  text: AsyncIterable<string>,
): never {
  return reply.type('application/json; charset=utf-8').send(Readable.from(text, { objectMode: false })) as never;
}

const pieceCharsMin = 16 * 1024;
