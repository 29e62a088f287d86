// Sends JSON of any length in pieces, each when the previous one has been sent: bounded memory.
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../../config/limits.ts';

/** The text of an array in pieces; an entry's text may come in pieces too. */
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

/** Answers with JSON from pieces of text. A failure cuts the connection, so that a part is not taken for the whole. */
export function sendJsonText(
  reply: { type(type: string): { send(payload: unknown): unknown } },
  text: AsyncIterable<string>,
): never {
  return reply.type('application/json; charset=utf-8').send(Readable.from(text, { objectMode: false })) as never;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Converts the records of a list for older versions of the API. */
    toAnsweredRecord?: (record: object) => object;
  }
}

/** Answers with a list of records read in steps: a small one is sent whole, a larger one streamed. */
export async function sendRecords(
  request: FastifyRequest,
  reply: FastifyReply,
  steps: AsyncGenerator<readonly object[]>,
): Promise<unknown> {
  const { toAnsweredRecord = (record: object) => record } = request.routeOptions.config;
  if (request.method !== 'HEAD')
    await request.server.answerBudget.reserve(request, reply, limits.answerCountedBytesMin);
  const texts: string[] = [];
  let chars = 0;
  for (;;) {
    const { value: records, done } = await steps.next();
    if (done === true)
      return reply
        .type(jsonType)
        .serializer(String)
        .send(`[${texts.join(',')}]`);
    for (const record of records) {
      const text = JSON.stringify(toAnsweredRecord(record));
      texts.push(text);
      chars += text.length;
    }
    request.answerReservation?.setTo(Math.max(chars, limits.answerCountedBytesMin));
    if (chars > limits.listBytesMax) break;
  }
  const all = async function* () {
    yield* texts.splice(0);
    for await (const records of steps) for (const record of records) yield JSON.stringify(toAnsweredRecord(record));
  };
  return sendJsonText(
    reply,
    arrayText(all(), (text) => text),
  );
}

const jsonType = 'application/json; charset=utf-8';
const pieceCharsMin = 16 * 1024;
