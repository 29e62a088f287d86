// A provider of messages as a server of the test: gives configured answers or fails, and records requests. Used by the
// tests of senders, with checks that all senders must pass.
import assert from 'node:assert/strict';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { TurnedClock } from '../../../src/base/time/clock.ts';
import type {
  OutgoingMessage,
  Recipient,
  Sender,
  SendOutcome,
} from '../../../src/domain/notifications/outbox/sender.ts';
import type { Channel } from '../../../src/domain/notifications/rules/notification.ts';
import { until } from '../until.ts';

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
}

/** What a provider does instead of answering. */
export type Trouble = 'silence' | 'cut' | 'cut in the answer' | 'noise';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class Provider {
  readonly asked: Asked[] = [];
  /** What it answers; by what it is asked where that is a function. */
  reply: Reply | Trouble | ((asked: Asked) => Reply | Trouble) = { status: 200 };
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async start(): Promise<Provider> {
    const provider = new Provider();
    await new Promise<void>((resolve) => provider.#server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get last(): Asked {
    const asked = this.asked.at(-1);
    assert.ok(asked !== undefined, 'the provider was asked');
    return asked;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const asked = { method, path, headers, body: await text(request) };
    this.asked.push(asked);
    const reply = typeof this.reply === 'function' ? this.reply(asked) : this.reply;
    if (reply === 'silence') return;
    if (reply === 'cut') return void request.socket.destroy();
    if (reply === 'noise') return void request.socket.end('I am no HTTP\r\n\r\n');
    if (reply === 'cut in the answer') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      response.write('{"data": ');
      return void setImmediate(() => request.socket.destroy());
    }
    const type = reply.text === undefined ? 'application/json; charset=utf-8' : 'text/html';
    response.writeHead(reply.status, { 'content-type': type, ...reply.headers });
    response.end(reply.text ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)));
  }
}

export const clock = new TurnedClock(Date.UTC(2026, 0, 15, 12));
const never = new AbortController().signal;

let made = 0;

/** A message to somebody who is reached there. */
/** The one whom test messages go to. */
export const awa = { id: '6f1f0c1e-0000-4000-8000-000000000001', username: 'awa', webhookVersion: 1 };

export function messageTo(to: Partial<Recipient>, channel: Channel, said = 'Field 3 is dry: 12 %'): OutgoingMessage {
  made += 1;
  return { id: `message-${made}`, channel, to: { ...awa, ...to }, text: said };
}

/** What one try comes to; none of the secrets is ever told. */
export async function send(
  sender: Sender,
  message: OutgoingMessage,
  { secrets = [], signal = never }: { readonly secrets?: readonly string[]; readonly signal?: AbortSignal } = {},
): Promise<SendOutcome> {
  const sendOutcome = await sender.send(message, signal);
  const told = JSON.stringify(sendOutcome);
  const { phone = [], twitter = [], telegram = [], webhook = [], email = [] } = message.to;
  for (const secret of [...secrets, ...[phone, twitter, telegram, webhook, email].flat()]) {
    assert.ok(!told.includes(secret), `${secret} is told: ${told}`);
  }
  return sendOutcome;
}

export interface Spoken {
  readonly provider: () => Provider;
  /** A sender that gives up after so many milliseconds. */
  readonly sender: (msMax: number) => Sender;
  readonly message: () => OutgoingMessage;
  readonly secrets: readonly string[];
}

/** What every sender over HTTP does when its provider is in trouble. */
export function troubleTests({ provider, sender, message, secrets }: Spoken): void {
  const retries = async (trouble: Trouble, msMax = 20_000) => {
    provider().reply = trouble;
    const sendOutcome = await send(sender(msMax), message(), { secrets });
    assert.equal(sendOutcome.kind, 'retry', JSON.stringify(sendOutcome));
    return sendOutcome as Extract<SendOutcome, { readonly kind: 'retry' }>;
  };

  test('a provider that is silent is given up after a while, and tried again', async () => {
    const { reason, code } = await retries('silence', 150);
    assert.match(reason, /did not answer within 1 s/);
    assert.equal(code, 'time-out');
  });

  test('a connection that is cut before or in the answer is tried again', async () => {
    assert.match((await retries('cut')).reason, /cut the connection/);
    assert.match((await retries('cut in the answer')).reason, /cut the connection|cannot be understood/);
  });

  test('an answer that is no HTTP is tried again', async () => {
    assert.match((await retries('noise')).reason, /cannot be understood/);
  });

  test('an answer without end is cut off, and not waited for', async () => {
    provider().reply = { status: 500, text: 'x'.repeat(3_000_000) };
    assert.equal((await send(sender(20_000), message(), { secrets })).kind, 'retry');
  });

  test('a stop of the service ends the try at once, and it is made again', async () => {
    provider().reply = 'silence';
    const stop = new AbortController();
    const before = provider().asked.length;
    const sent = send(sender(20_000), message(), { secrets, signal: stop.signal });
    await until(() => provider().asked.length > before);
    stop.abort();
    assert.equal((await sent).kind, 'retry');
    const after = await send(sender(20_000), message(), { secrets, signal: stop.signal });
    assert.deepEqual([after.kind, provider().asked.length], ['retry', before + 1]);
  });

  for (const status of [500, 502, 503, 504]) {
    test(`${status} is tried again`, async () => {
      provider().reply = { status, text: '<h1>awa +221770000000</h1>' };
      const sendOutcome = await send(sender(20_000), message(), { secrets });
      assert.deepEqual({ ...sendOutcome, reason: '' }, { kind: 'retry', reason: '', code: String(status) });
    });
  }

  test('429 is tried again when the provider says, in seconds or at a time', async () => {
    const waits = async (after: string) => {
      provider().reply = { status: 429, headers: { 'retry-after': after }, json: {} };
      const { kind, ...rest } = await send(sender(20_000), message(), { secrets });
      assert.equal(kind, 'retry');
      return (rest as { readonly retryAfterS?: number }).retryAfterS;
    };
    assert.equal(await waits('7'), 7);
    assert.equal(await waits(new Date(clock.now() + 90_000).toUTCString()), 90);
    assert.equal(await waits(new Date(clock.now() - 90_000).toUTCString()), 0);
    // Not believed.
    assert.equal(await waits('99999999999'), 86_400);
    assert.equal(await waits('soon'), undefined);
  });
}
