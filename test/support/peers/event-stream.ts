// Reads server-sent events as a browser that uses fetch does.
import assert from 'node:assert/strict';
import type { As } from '../people.ts';
import type { TestServer } from '../test-server.ts';

export interface ServerEvent {
  readonly id: string | undefined;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the data.
  readonly data: any;
}

export class EventStream {
  readonly response: Response;
  readonly #abort: AbortController;
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = '';

  private constructor(response: Response, abort: AbortController) {
    assert.ok(response.body !== null);
    this.response = response;
    this.#abort = abort;
    this.#reader = response.body.pipeThrough(new TextDecoderStream() as never).getReader() as never;
  }

  /** Opens the stream at a path below `/api/v2`, and waits until it is under way. */
  static async open(
    server: TestServer,
    as: As,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<EventStream> {
    const abort = new AbortController();
    const authorization = as === 'guest' ? {} : { authorization: `Bearer ${await server.token(as)}` };
    const all = { ...authorization, ...headers };
    const response = await fetch(`${server.url}/api/v2${path}`, { headers: all, signal: abort.signal });
    const stream = new EventStream(response, abort);
    assert.equal(response.status, 200);
    assert.equal(await stream.#block(), 'retry: 3000');
    return stream;
  }

  /** The next event, signs of life passed over; undefined at the end. */
  async next(): Promise<ServerEvent | undefined> {
    for (;;) {
      const block = await this.#block();
      if (block === undefined) return undefined;
      const lines = block.split('\n').filter((line) => !line.startsWith(':'));
      if (lines.length === 0) continue;
      const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      return { id: field('id'), event: field('event') ?? 'message', data: JSON.parse(field('data') ?? 'null') };
    }
  }

  /** The values of the next datapoints. */
  async values(count: number): Promise<unknown[]> {
    const values: unknown[] = [];
    while (values.length < count) {
      const event = await this.next();
      assert.equal(event?.event, 'datapoint', JSON.stringify(event));
      values.push(event?.data.value);
    }
    return values;
  }

  /** Why the stream ends, after which nothing comes. */
  async reason(): Promise<string> {
    const event = await this.next();
    assert.equal(event?.event, 'end', JSON.stringify(event));
    assert.equal(await this.next(), undefined);
    return event?.data.reason;
  }

  close(): void {
    this.#abort.abort();
  }

  async #block(): Promise<string | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        return block;
      }
      const { value, done } = await this.#reader.read();
      if (done) return undefined;
      this.#text += value;
    }
  }
}
