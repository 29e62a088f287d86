// Traces (DUNDUN_TRACES_URL): what is sent to a collector, what never is, and who decides what is traced.
import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, suite, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code: number };
}

/** A collector that keeps what it is sent. */
class Collector {
  readonly #server: Server;
  readonly headers: IncomingHttpHeaders[] = [];
  readonly texts: string[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        this.headers.push(request.headers);
        this.texts.push(Buffer.concat(parts).toString());
        response.setHeader('content-type', 'application/json').end('{}');
      });
    });
  }

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  get spans(): SentSpan[] {
    return this.texts.flatMap((text) =>
      JSON.parse(text).resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: SentSpan[] }[] }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Runs `work` on a server of its own and returns what it has sent when it has stopped. */
async function tracesOf(
  settings: Readonly<Record<string, string>>,
  work: (server: TestServer) => Promise<void>,
): Promise<Collector> {
  const collector = await Collector.start();
  try {
    const server = await TestServer.start({ DUNDUN_TRACES_URL: collector.url, ...settings });
    try {
      await work(server);
    } finally {
      await server.stop();
    }
  } finally {
    await collector.stop();
  }
  return collector;
}

const attributeOf = (span: SentSpan, key: string) => {
  const value = span.attributes.find((attribute) => attribute.key === key)?.value ?? {};
  return Object.values(value)[0];
};
const requestsOf = ({ spans }: Collector) => spans.filter(({ kind }) => kind === 2);

const secret = 'The password nobody may read 1';

suite('traces', () => {
  let all: Collector;

  before(async () => {
    const settings = { DUNDUN_TRACES_SHARE: '1', DUNDUN_TRACES_HEADERS: 'authorization=Bearer%20abc,x-team=farm' };
    all = await tracesOf(settings, async (server) => {
      await make(server, {
        as: 'owner',
        call: 'POST /devices',
        json: { id: 'well', sensors: [{ id: 'level' }] },
        expect: 204,
      });
      const path = '/devices/well/sensors/level/values';
      await make(server, { as: 'owner', call: `POST ${path}`, json: [{ value: 1 }, { value: 2 }], expect: 204 });
      await server.call('owner', 'POST', path, { json: { value: 3 } });
      await make(server, { as: 'owner', call: `GET ${path}?q=hidden-words`, expect: 200 });
      await make(server, { call: 'POST /auth/token', json: { username: 'owner', password: secret }, expect: 401 });
      await make(server, { as: 'stranger', call: 'GET /devices/well', expect: 403 });
    });
  });

  test('name each request by its method and route, with the status of its answer', () => {
    const names = requestsOf(all).map((span) => `${span.name} ${attributeOf(span, 'http.response.status_code')}`);
    for (const expected of [
      'POST /api/v2/devices 204',
      'POST /api/v2/devices/:device/sensors/:sensor/values 204',
      'GET /api/v2/devices/:device/sensors/:sensor/values 200',
      'POST /api/v2/auth/token 401',
      'GET /api/v2/devices/:device 403',
    ])
      assert.ok(names.includes(expected), `${expected} in ${names.join(', ')}`);
  });

  test('say within a request what it waited for', () => {
    const [get] = requestsOf(all).filter(({ name }) => name.startsWith('GET /api/v2/devices/:device/sensors'));
    const within = all.spans.filter(({ traceId, spanId }) => traceId === get?.traceId && spanId !== get.spanId);
    assert.ok(
      within.some(({ name }) => name.startsWith('series ')),
      within.map(({ name }) => name).join(', '),
    );
    const [post] = requestsOf(all).filter(({ name }) => name.startsWith('POST /api/v2/devices/:device/sensors'));
    const append = all.spans.find((span) => span.traceId === post?.traceId && span.name === 'commit log append');
    assert.equal(Number(append && attributeOf(append, 'dundun.datapoints')), 2);
  });

  test('have one for what comes over the fast path', () => {
    const appended = all.spans.filter(({ name }) => name === 'commit log append');
    const datapoints = appended.reduce((sum, span) => sum + Number(attributeOf(span, 'dundun.datapoints')), 0);
    assert.equal(datapoints, 3);
  });

  test('contain nothing that a user has sent', () => {
    const text = all.texts.join('');
    for (const word of ['well', 'level', 'hidden-words', secret, 'owner', 'Bearer'])
      assert.ok(!text.includes(word), `${word} in what was sent`);
  });

  test('are sent with the headers of the setting', () => {
    assert.equal(all.headers[0]?.['authorization'], 'Bearer abc');
    assert.equal(all.headers[0]?.['x-team'], 'farm');
  });

  const wanted = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };

  test('are not made because a stranger asks for one', async () => {
    const { spans } = await tracesOf({ DUNDUN_TRACES_SHARE: '0' }, async (server) => {
      await make(server, { call: 'GET /devices', headers: wanted, expect: 200 });
    });
    assert.deepEqual(spans, []);
  });

  test('go on with that of a trusted proxy', async () => {
    const settings = { DUNDUN_TRACES_SHARE: '0', DUNDUN_TRUST_PROXY: '127.0.0.1,::1' };
    const collector = await tracesOf(settings, async (server) => {
      await make(server, { call: 'GET /devices', headers: wanted, expect: 200 });
      await make(server, {
        call: 'GET /devices',
        headers: { traceparent: `${wanted.traceparent}-and more` },
        expect: 200,
      });
    });
    const [request, ...others] = requestsOf(collector);
    assert.equal(request?.traceId, '4bf92f3577b34da6a3ce929d0e0e4736');
    assert.equal(request?.parentSpanId, '00f067aa0ba902b7');
    assert.deepEqual(others, []);
  });

  test('cost nobody anything where the collector does not answer', async () => {
    const server = await TestServer.start({
      DUNDUN_TRACES_URL: 'http://127.0.0.1:1/v1/traces',
      DUNDUN_TRACES_SHARE: '1',
    });
    try {
      for (let n = 0; n < 20; n++) await make(server, { call: 'GET /devices', expect: 200 });
    } finally {
      await server.stop();
    }
  });
});
