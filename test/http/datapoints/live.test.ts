// Live streams (contract 10): committed datapoints arrive in order and once, for callers who may see them at that
// moment.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { createGunzip, constants as zlib } from 'node:zlib';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { EventStream } from '../../support/peers/event-stream.ts';
import { addUsers, setPassword } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let streams: EventStream[] = [];
const as = 'owner';

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, [...sharers, 'leaver'], server.clock);
});
after(() => server.stop());

beforeEach(async () => {
  const sensors = [{ id: 's' }, { id: 't' }];
  const actuators = [{ id: 'valve', actuator_value_type: 'bool' }];
  await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors, actuators } });
  await server.call(as, 'POST', '/devices', { json: { id: 'open', visibility: 'public', sensors } });
});
afterEach(async () => {
  for (const stream of streams) stream.close();
  streams = [];
  for (const id of ['d', 'open']) await server.call('admin', 'DELETE', `/devices/${id}`);
});

const open = async (who: string, path = '/devices/d/live', headers: Readonly<Record<string, string>> = {}) => {
  const stream = await EventStream.open(server, who, path, headers);
  streams.push(stream);
  return stream;
};
const push = (value: unknown, sensor = 's', device = 'd') =>
  server.call(as, 'POST', `/devices/${device}/sensors/${sensor}/values`, { json: { value } });

/** The stream as it comes over the connection. */
class RawStream {
  readonly response: IncomingMessage;
  #text = '';
  #wake: () => void = () => {};
  bytes = 0;

  private constructor(response: IncomingMessage) {
    this.response = response;
    const isPacked = response.headers['content-encoding'] === 'gzip';
    const unpacked = isPacked ? response.pipe(createGunzip({ flush: zlib.Z_SYNC_FLUSH })) : response;
    response.on('data', (bytes: Buffer) => {
      this.bytes += bytes.length;
    });
    unpacked.on('error', () => {});
    unpacked.on('data', (bytes: Buffer) => {
      this.#text += bytes.toString();
      this.#wake();
    });
  }

  static async open(headers: Readonly<Record<string, string>>): Promise<RawStream> {
    const { port, hostname } = new URL(server.url);
    const authorization = `Bearer ${await server.token(as)}`;
    const path = '/api/v2/devices/d/live';
    const sent = request({ hostname, port, path, headers: { ...headers, authorization } });
    sent.on('error', () => {});
    sent.end();
    const [response] = await once(sent, 'response');
    response.on('error', () => {});
    return new RawStream(response);
  }

  /** Waits until this text has come. */
  async until(text: string): Promise<void> {
    while (!this.#text.includes(text)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.response.destroy();
  }
}

suite('a live stream', () => {
  test('hands on datapoints and settings of its device alone, as they are committed', async () => {
    const stream = await open(as);
    assert.equal(stream.response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(stream.response.headers.get('cache-control'), 'no-store');
    await push('other', 's', 'open');
    const json = { value: 1, timestamp: '2026-01-10T00:00:00Z' };
    await server.call(as, 'POST', '/devices/d/sensors/s/values', { json });
    await server.call(as, 'PUT', '/devices/d/actuators/valve/value', { json: true });
    await push({ a: [1] }, 't');
    const [first, second, third] = [await stream.next(), await stream.next(), await stream.next()];
    assert.deepEqual([first?.event, first?.data], ['datapoint', { device_id: 'd', sensor_id: 's', ...json, date_received: '2026-01-15T12:00:00Z' }]); // biome-ignore format: one line
    assert.deepEqual([second?.event, second?.data], ['actuator', { device_id: 'd', actuator_id: 'valve', value: true }]); // biome-ignore format: one line
    assert.deepEqual([third?.data.sensor_id, third?.data.value, third?.data.timestamp], ['t', { a: [1] }, undefined]);
  });

  test('hands on what comes by bulk and in arrays, each once and in order', async () => {
    const readers = [await open(as), await open('admin')];
    const values = Array.from({ length: 1500 }, (_, n) => n);
    await server.call(as, 'POST', '/devices/d/sensors/s/values', { json: values.map((value) => ({ value })) });
    await server.call(as, 'POST', '/datapoints', { json: [{ device_id: 'd', sensor_id: 's', value: 'bulk' }] });
    for (const reader of readers) assert.deepEqual(await reader.values(1501), [...values, 'bulk']);
  });

  test('hands on what is published over MQTT, in the order of its commits', async () => {
    const stream = await open(as);
    const client = await Client.connect(server, 'owner');
    for (let n = 0; n < 5; n++) {
      await client.publish('devices/d/sensors/s/value', { value: n }, { qos: 1 });
      await push(`rest ${n}`);
    }
    await client.publish('devices/d/sensors/s/values', [{ value: 'a' }, { value: 'b' }], { qos: 1 });
    await client.publish('devices/d/actuators/valve/value', true, { qos: 1 });
    const both = Array.from({ length: 5 }, (_, n) => [n, `rest ${n}`]).flat();
    assert.deepEqual(await stream.values(12), [...both, 'a', 'b']);
    assert.deepEqual((await stream.next())?.data, { device_id: 'd', actuator_id: 'valve', value: true });
    await client.end();
  });

  test('is calibrated as reads are, with the calibration of the moment', async () => {
    const calibrated = await open(as);
    const raw = await open(as, '/devices/d/live?calibrated=false');
    await push(1);
    const point = (sensor_value: number, real_value: number) => ({ sensor_value, real_value });
    const linear = { enabled: true, value_min: point(0, 100), value_max: point(1, 110) };
    await server.call(as, 'PUT', '/devices/d/sensors/s/calib', { json: { linear } });
    await push(2);
    assert.deepEqual(await calibrated.values(2), [1, 120]);
    assert.deepEqual(await raw.values(2), [1, 2]);
  });

  test('works from pages of other origins', async () => {
    const stream = await open('guest', '/devices/open/live', { origin: 'https://example.org' });
    assert.equal(stream.response.headers.get('access-control-allow-origin'), '*');
    const preflight = await server.send('OPTIONS', '/api/v2/devices/open/live', {
      headers: { origin: 'https://example.org' },
    });
    assert.match(String(preflight.headers['access-control-allow-headers']), /Authorization.*Last-Event-ID/);
    await push(1, 's', 'open');
    assert.deepEqual(await stream.values(1), [1]);
  });

  test('is compressed where the reader takes gzip, each event flushed, and as it is elsewhere', async () => {
    const rows = [
      ['gzip, deflate, br', 'gzip'],
      ['br;q=1, gzip;q=0.1', 'gzip'],
      ['gzip;q=0', undefined],
      ['br', undefined],
      ['identity', undefined],
    ] as const;
    for (const [header, expected] of rows) {
      const raw = await RawStream.open({ 'accept-encoding': header });
      assert.equal(raw.response.headers['content-encoding'], expected, header);
      assert.match(String(raw.response.headers.vary), /Accept-Encoding/);
      await raw.until('retry: 3000\n\n');
      let [before, sent] = [raw.bytes, 0];
      for (let n = 0; n < 30; n++) {
        await push(20 + n / 4);
        // The next one is pushed when this one is there: nothing waits for company.
        await raw.until(`"value":${20 + n / 4},`);
        sent += raw.bytes - before;
        before = raw.bytes;
      }
      if (expected === 'gzip') assert.ok(sent / 30 < 70, `${sent / 30} bytes an event`);
      else assert.ok(sent / 30 > 130);
      raw.close();
    }
  });

  test('carries long values compressed, whole and in order', async () => {
    const stream = await open(as, '/devices/d/live', { 'accept-encoding': 'gzip' });
    assert.equal(stream.response.headers.get('content-encoding'), 'gzip');
    const texts = Array.from({ length: 40 }, (_, n) => `${n}`.repeat(60_000 / `${n}`.length));
    const json = texts.map((value) => ({ value }));
    await server.call(as, 'POST', '/devices/d/sensors/s/values', { json });
    assert.deepEqual(await stream.values(40), texts);
    await push('after');
    assert.deepEqual(await stream.values(1), ['after']);
    // The end is that of a whole gzip member, with its checksum.
    await server.call(as, 'DELETE', '/devices/d');
    await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
    await push('another device');
    assert.match(await stream.reason(), /removed/);
  });

  test('answers HEAD without a stream', async () => {
    const { headers } = await make(server, { as, call: 'HEAD /devices/d/live', expect: 200 });
    assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(headers['content-length'], undefined);
    await make(server, { as: 'stranger', call: 'HEAD /devices/d/live', expect: 403 });
  });
});

suite('who may follow', () => {
  for (const who of everybody) {
    const reads = ['reader', 'owner', 'admin'].includes(who);
    test(`a private device: ${reads ? '' : 'not '}${who}`, async () => {
      await shareWithAll(server, 'd');
      if (!reads) await make(server, { as: who, call: 'GET /devices/d/live', expect: 403 });
      else {
        const stream = await open(who);
        await push('seen');
        assert.deepEqual(await stream.values(1), ['seen']);
      }
      const ofOpen = await open(who, '/devices/open/live');
      await push('public', 's', 'open');
      assert.deepEqual(await ofOpen.values(1), ['public']);
    });
  }

  test('is told by the usual refusals', async () => {
    await make(server, { as, call: 'GET /devices/none/live', expect: 404 });
    await make(server, { as, call: 'GET /devices/a%20b/live', expect: 400 });
    await make(server, { as, call: 'GET /devices/d/live?calibrated=perhaps', expect: 400 });
    await make(server, { call: 'GET /devices/open/live', headers: { authorization: 'Bearer x.y.z' }, expect: 401 });
  });
});

suite('a stream ends', () => {
  test('when its right is taken away, before another value', async () => {
    await shareWithAll(server, 'd');
    const stream = await open('reader');
    await push('first');
    assert.deepEqual(await stream.values(1), ['first']);
    await server.call(as, 'DELETE', '/devices/d/shares/reader');
    await push('secret');
    assert.match(await stream.reason(), /devices-data:view/);
  });

  test('when the device becomes private', async () => {
    const stream = await open('guest', '/devices/open/live');
    await server.call(as, 'PUT', '/devices/open/visibility', { text: 'private' });
    await push('secret', 's', 'open');
    assert.match(await stream.reason(), /devices-data:view/);
  });

  test('when its token has expired', async () => {
    const stream = await open(as);
    server.clock.advance(600_001);
    await push('too late');
    assert.match(await stream.reason(), /expired/);
  });

  test('when the password has changed', async () => {
    await server.call(as, 'PUT', '/devices/d/shares/leaver', { json: { scopes: ['device-data:view'] } });
    const stream = await open('leaver');
    await setPassword(server.folder, 'leaver', 'another drum');
    server.clock.advance(1_001);
    await push('too late');
    assert.match(await stream.reason(), /no longer good/);
  });

  test('when its device is removed, also if another has the id then', async () => {
    const stream = await open(as);
    await server.call(as, 'DELETE', '/devices/d');
    await server.call(as, 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
    await push('of another');
    assert.match(await stream.reason(), /was removed/);
  });

  test('when the service stops, which does not wait for it', async () => {
    const { drainMsMax } = limits;
    // So long that a slow machine cannot be taken for waiting.
    Object.assign(limits, { drainMsMax: 120_000 });
    const stream = await open(as);
    const reason = stream.reason();
    const begun = performance.now();
    await server.running.close();
    const tookMs = performance.now() - begun;
    Object.assign(limits, { drainMsMax });
    await server.restart();
    assert.ok(tookMs < 120_000, `it took ${Math.round(tookMs)} ms`);
    assert.match(await reason, /stopping/);
  });

  for (const encoding of ['identity', 'gzip']) {
    test(`when its reader takes nothing, which holds up nobody: ${encoding}`, () => readNothing(encoding));
  }

  async function readNothing(encoding: string): Promise<void> {
    const { port, hostname } = new URL(server.url);
    const headers = { authorization: `Bearer ${await server.token(as)}`, 'accept-encoding': encoding };
    const sent = request({ hostname, port, path: '/api/v2/devices/d/live', headers });
    sent.end();
    const [response] = await once(sent, 'response');
    response.pause();
    const watcher = await open(as);
    for (let n = 0; n < 25; n++) {
      // As long compressed as not, almost.
      const json = Array.from({ length: 20 }, () => ({ value: randomBytes(45_000).toString('base64') }));
      assert.equal((await server.call(as, 'POST', '/devices/d/sensors/s/values', { json })).status, 204);
      assert.equal((await watcher.values(20)).length, 20);
    }
    let text = '';
    const unpacked = encoding === 'gzip' ? response.pipe(createGunzip()) : response;
    for await (const chunk of unpacked) text = (text + chunk.toString()).slice(-1000);
    assert.match(text, /event: end\ndata: {"reason":"You take less than comes in/);
  }
});

suite('a reader that comes back', () => {
  test('gets what it missed, in order of arrival, then what comes', async () => {
    const stream = await open(as);
    await push('before');
    const { id } = (await stream.next()) ?? {};
    stream.close();
    server.clock.advance(1);
    const late = { value: 'late', timestamp: '2026-01-14T00:00:00Z' };
    await push('one');
    server.clock.advance(1);
    await server.call(as, 'POST', '/devices/d/sensors/t/values', { json: late });
    await server.running.engine.seal();
    await push('three');
    const back = await open(as, '/devices/d/live', { 'last-event-id': String(id) });
    assert.deepEqual(await back.values(3), ['one', 'late', 'three']);
    await push('four');
    assert.deepEqual(await back.values(1), ['four']);
  });

  test('is told of a gap where that is too much', async () => {
    const stream = await open(as);
    await push('before');
    const { id } = (await stream.next()) ?? {};
    const json = Array.from({ length: 1200 }, (_, n) => ({ value: n }));
    await server.call(as, 'POST', '/devices/d/sensors/s/values', { json });
    await push('last', 't');
    const back = await open(as, '/devices/d/live', { 'last-event-id': String(id) });
    assert.equal((await back.next())?.event, 'gap');
    const values = await back.values(1000);
    assert.deepEqual([values[0], values.at(-1)], [201, 'last']);
  });

  test('is told of a gap where what it missed is too long, and gets the newest', async () => {
    const stream = await open(as);
    await push('before');
    const { id } = (await stream.next()) ?? {};
    const long = (n: number) => String(n).padEnd(limits.liveMissedBytesMax / 8, '.');
    const json = Array.from({ length: 20 }, (_, n) => ({ value: long(n) }));
    await server.call(as, 'POST', '/devices/d/sensors/s/values', { json });
    const back = await open(as, '/devices/d/live', { 'last-event-id': String(id) });
    assert.equal((await back.next())?.event, 'gap');
    assert.deepEqual(await back.values(3), [long(17), long(18), long(19)]);
  });

  test('with an id that is none gets what comes', async () => {
    await push('before');
    for (const id of ['x', '-1', '1e9', '99999999999999999999', '']) {
      const stream = await open(as, '/devices/d/live', { 'last-event-id': id });
      await push(id);
      assert.deepEqual(await stream.values(1), [id]);
    }
  });
});
