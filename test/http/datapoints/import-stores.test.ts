// What an import stores (contract 10): rights, places and times of datapoints, repeats, and what remains of a file
// that breaks off.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { everybody, sharers, shareWithAll } from '../../support/shares.ts';
import { type Carries, TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

let server: TestServer;
const as = 'owner';
const received = '2026-01-15T12:00:00Z';
const timeOf = (n: number) => new Date(Date.UTC(2020, 0, 1) + n * 60_000).toISOString().replace('.000', '');

before(async () => {
  server = await TestServer.start();
  await addUsers(server.folder, sharers, server.clock);
});
after(() => server.stop());
beforeEach(async () => {
  for (const id of ['a', 'b', 'open']) await server.call('admin', 'DELETE', `/devices/${id}`);
  const sensors = [{ id: 'x' }, { id: 'y' }];
  for (const id of ['a', 'b']) await server.call(as, 'POST', '/devices', { json: { id, sensors } });
  await server.call(as, 'POST', '/devices', { json: { id: 'open', visibility: 'public', sensors } });
  await shareWithAll(server, 'a');
});

const csv = (text: string, headers: Record<string, string> = {}): Carries => ({
  body: text,
  headers: { 'content-type': 'text/csv', ...headers },
});

interface BringOptions {
  readonly who?: string;
  readonly expect?: number;
  readonly key?: string;
  readonly type?: string;
}

async function bring(text: string, query = '', options: BringOptions = {}) {
  const { who = as, expect = 200, key, type = 'text/csv' } = options;
  const carries = csv(text, { 'content-type': type, ...(key === undefined ? {} : { 'idempotency-key': key }) });
  return (await make(server, { as: who, call: `POST /import?${query}`, ...carries, expect })).body;
}

async function stored(device: string, sensor = 'x'): Promise<unknown[]> {
  const path = `/devices/${device}/sensors/${sensor}/values?format=ndjson`;
  const { text } = await server.call('admin', 'GET', path);
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line).value); // biome-ignore format: one line
}

const rows = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => `${timeOf(from + n)},${from + n}\n`).join('');

for (const who of everybody) {
  test(`${who} imports what they may push, and makes sensors where they may change the device`, async () => {
    const mayPushToA = ['pusher', 'owner', 'admin'].includes(who);
    const mayPushToB = ['owner', 'admin'].includes(who);
    const text = `device,sensor,time,value\na,x,${timeOf(1)},1\nb,x,${timeOf(1)},2\nopen,x,${timeOf(1)},3\nopen,new,${timeOf(1)},4\n`;
    for (const dry of ['true', 'false']) {
      const answer = await bring(text, `create_sensors=true&dry_run=${dry}`, { who });
      assert.equal(answer.accepted, 1 + Number(mayPushToA) + Number(mayPushToB) * 2);
      assert.deepEqual(answer.created, mayPushToB ? [{ device_id: 'open', sensor_id: 'new' }] : []);
      for (const { detail } of answer.refused) assert.match(detail, /You need the right devices(-data:create|:update)/);
      const isStored = dry === 'false';
      assert.deepEqual(
        [await stored('a'), await stored('b'), await stored('open')],
        [mayPushToA && isStored ? [1] : [], mayPushToB && isStored ? [2] : [], isStored ? [3] : []],
      );
    }
  });

  test(`${who} keeps times of receiving, and learns what is there, only with the rights for it`, async () => {
    const isOwner = ['owner', 'admin'].includes(who);
    const text = `device,sensor,time,date_received,value\nopen,x,${timeOf(1)},${timeOf(2)},1\n`;
    const kept = await bring(text, 'received=keep', { who });
    assert.equal(kept.accepted, Number(isOwner));
    const private1 = await bring(`device,sensor,time,value\na,x,${timeOf(1)},1\n`, 'on_duplicate=skip', { who });
    assert.equal(private1.accepted, Number(isOwner));
    assert.deepEqual(await stored('a'), isOwner ? [1] : []);
  });
}

test('where guests are turned away, nobody imports without a token; an API key does what it may', async () => {
  const { body } = await server.call(as, 'POST', '/auth/keys', {
    json: { name: 'k', scopes: ['devices-data:create'], devices: ['a'] },
  });
  const text = `device,sensor,time,value\na,x,${timeOf(1)},1\nb,x,${timeOf(1)},2\na,z,${timeOf(1)},2\n`;
  const headers = { authorization: `Bearer ${body.key}`, 'content-type': 'text/csv' };
  const answer = await server.send('POST', '/api/v2/import?create_sensors=true', { body: text, headers });
  assert.deepEqual([answer.body.accepted, answer.body.refused_count, answer.body.created], [1, 2, []]);
  await server.restart({ DUNDUN_GUEST_ACCESS: 'none' });
  await bring(text, '', { who: 'guest', expect: 401 });
  await server.restart();
});

suite('an import', () => {
  test('is committed when the answer goes out, and a dry run leaves nothing', async () => {
    assert.equal((await bring(`time,x,y\n${timeOf(1)},1,2\n`, 'device=a&dry_run=true')).accepted, 2);
    assert.deepEqual(await stored('a'), []);
    await bring(`time,x,y\n${timeOf(1)},1,2\n`, 'device=a');
    await server.restart();
    assert.deepEqual([await stored('a'), await stored('a', 'y')], [[1], [2]]);
    const { body } = await server.call(as, 'GET', '/devices/a/sensors/x/values');
    assert.deepEqual(body, [{ value: 1, timestamp: timeOf(1), date_received: received }]);
  });

  test('of more than one commit keeps the order of the file', async () => {
    const text = Array.from({ length: 12_000 }, (_, n) => `${timeOf(1)},${n},${n}\n`).join('');
    const answer = await bring(`time,x,y\n${text}`, 'device=a');
    assert.deepEqual([answer.accepted, answer.lines, answer.refused], [24_000, 12_000, []]);
    assert.deepEqual(
      await stored('a'),
      Array.from({ length: 12_000 }, (_, n) => n),
    );
  });

  test('makes sensors with the name of their column, without its unit, and the unit, once', async () => {
    const text = `time,Wind (m/s),x\n${timeOf(1)},3.5,1\n`;
    assert.equal((await bring(text, 'device=a')).accepted, 1);
    const { created } = await bring(text, 'device=a&create_sensors=true');
    assert.deepEqual(created, [{ device_id: 'a', sensor_id: 'Wind' }]);
    assert.deepEqual((await bring(text, 'device=a&create_sensors=true')).created, []);
    const { body } = await server.call(as, 'GET', '/devices/a/sensors/Wind');
    assert.deepEqual([body.name, body.unit, body.last_value.value], ['Wind', 'm/s', 3.5]);
    await bring(`time,sensor,unit,value\n${timeOf(1)},new,bar,1\n`, 'device=a&create_sensors=true');
    assert.equal((await server.call(as, 'GET', '/devices/a/sensors/new')).body.unit, 'bar');
  });

  test('wakes no rule', async () => {
    const rule = {
      condition: { devices: ['a'], sensors: ['x'], expression: 'x>0' },
      action: { usernames: ['owner'], channels: ['none'], message: 'x' },
    };
    const { text: id } = await server.call(as, 'POST', '/notifications', { json: rule });
    await bring(`time,x\n${timeOf(1)},1\n`, 'device=a');
    await server.running.idle();
    assert.equal((await server.call(as, 'GET', `/notifications/${id}`)).body.times_sent, 0);
    await server.call(as, 'POST', '/devices/a/sensors/x/value', { json: { value: 1 } });
    await server.running.idle();
    assert.equal((await server.call(as, 'GET', `/notifications/${id}`)).body.times_sent, 1);
  });

  test('keeps when values were received where that is asked for, but not from the future', async () => {
    const text = `sensor,time,date_received,value\nx,${timeOf(1)},${timeOf(2)},1\nx,,${timeOf(3)},2\nx,${timeOf(4)},2999-01-01T00:00:00Z,3\n`;
    const ignored = await bring(text, 'device=a&dry_run=true');
    assert.deepEqual(ignored.refused, [{ line: 3, detail: 'The line has no time.', code: 'no-time' }]);
    const { refused } = await bring(text, 'device=a&received=keep');
    assert.deepEqual(refused, [
      { line: 4, detail: 'The time it was received lies in the future.', code: 'received-future' },
    ]);
    const { body } = await server.call(as, 'GET', '/devices/a/sensors/x/values');
    assert.deepEqual(body, [
      { value: 1, timestamp: timeOf(1), date_received: timeOf(2) },
      { value: 2, date_received: timeOf(3) },
    ]);
  });

  test('takes values that came without a time by when they were received, and times that begin later in the file', async () => {
    const lines = Array.from({ length: limits.importSampleLines + 1 }, (_, n) => ({
      value: n,
      date_received: timeOf(n),
    }));
    const last = { value: -1, timestamp: timeOf(-5), date_received: timeOf(3) };
    const ndjson = (all: readonly object[]) => all.map((line) => `${JSON.stringify(line)}\n`).join('');
    const ignored = await bring(ndjson(lines), 'device=a&sensor=x', { type: 'application/x-ndjson', expect: 400 });
    assert.match(ignored.detail, /^No column is the time/);
    const kept = await bring(ndjson([...lines, last]), 'device=a&sensor=x&received=keep', {
      type: 'application/x-ndjson',
    });
    assert.deepEqual([kept.accepted, kept.refused], [lines.length + 1, []]);
    const { body } = await server.call(as, 'GET', '/devices/a/sensors/x/values?limit=2');
    assert.deepEqual(body, [last, lines[0]]);
  });
});

suite('a file that is imported again', () => {
  test('is stored twice, unless what is there is to be skipped', async () => {
    const text = `time,x\n${rows(6_000)}`;
    await bring(text, 'device=a');
    const again = await bring(`${text}${rows(3, 6_000)}`, 'device=a&on_duplicate=skip');
    assert.deepEqual([again.accepted, again.duplicates], [3, 6_000]);
    assert.equal((await stored('a')).length, 6_003);
    await bring(text, 'device=a');
    assert.equal((await stored('a')).length, 12_003);
  });

  test('is skipped by value and time, also out of order, of any type, and within itself', async () => {
    const lines = [
      `${timeOf(500)},open`,
      `${timeOf(3)},"{""a"":1}"`,
      `${timeOf(3)},2`,
      `${timeOf(3)},2`,
      `${timeOf(1)},true`,
    ];
    const text = `time,x\n${lines.join('\n')}\n`;
    for (const [accepted, duplicates] of [[4, 1], [0, 5]] as const) {
      const dry = await bring(text, 'device=a&on_duplicate=skip&dry_run=true');
      const answer = await bring(text, 'device=a&on_duplicate=skip');
      assert.deepEqual([answer.accepted, answer.duplicates], [accepted, duplicates]);
      assert.deepEqual([dry.accepted, dry.duplicates], [accepted, duplicates]);
    } // biome-ignore format: a table
    const dense = `time,x\n${rows(20_000)}`;
    await bring(dense, 'device=b');
    const sparse = `time,x\n${timeOf(1)},1\n${timeOf(19_999)},19999\n${timeOf(5)},6\n`;
    const answer = await bring(sparse, 'device=b&on_duplicate=skip');
    assert.deepEqual([answer.accepted, answer.duplicates], [1, 2]);
  });

  test('under an Idempotency-Key stores nothing twice and goes on where it was cut off', async () => {
    const whole = `time,x\n${rows(12_000)}`;
    // Two commits of three came through.
    const part = await bring(whole, 'device=a&lines=10000', { key: 'k1' });
    assert.equal(part.accepted, 10_000);
    const first = await bring(whole, 'device=a', { key: 'k1' });
    assert.equal(first.accepted, 12_000);
    await server.restart();
    assert.deepEqual(await bring(whole, 'device=a', { key: 'k1' }), first);
    assert.equal((await stored('a')).length, 12_000);
    await bring(`time,x\n${rows(3)}`, 'device=a', { key: 'k1', expect: 422 });
    const other = await bring(whole.replace(`${timeOf(11_000)},`, `${timeOf(0)},`), 'device=a', { key: 'k1' });
    assert.deepEqual([other.accepted, other.stopped.line], [10_000, 10_002]);
    assert.match(other.stopped.detail, /Idempotency-Key/);
    assert.equal((await stored('a')).length, 12_000);
  });
});

suite('a file that breaks off', () => {
  test('is stored up to where it can be read, and the answer says where that is', async () => {
    const bytes = Buffer.concat([Buffer.from(`time,x\n${rows(7_000)}`), Buffer.from([0xff, 0x0a])]);
    const answer = await make(server, {
      as,
      call: 'POST /import?device=a',
      body: bytes,
      headers: { 'content-type': 'text/csv' },
      expect: 200,
    });
    const { accepted, stopped, next } = answer.body;
    assert.deepEqual([accepted, stopped.line, next.line], [5_000, 5_002, 5_002]);
    assert.match(stopped.detail, /not in UTF-8/);
    assert.equal((await stored('a')).length, 5_000);
    const rest = await bring(`time,x\n${rows(2_000, 5_000)}x,1\n`, `device=a&line=${next.line}&time_format=iso`);
    assert.deepEqual([rest.accepted, rest.refused[0].line], [2_000, 7_002]);
    assert.equal((await stored('a')).length, 7_000);
  });

  test('because its sender goes away leaves whole commits, and the service as it was', async () => {
    const token = await server.token(as);
    const sent = request(`${server.url}/api/v2/import?device=a`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'text/csv' },
    });
    sent.on('error', () => {});
    sent.write(`time,x\n${rows(11_000)}${timeOf(1)},4`);
    await until(async () => (await stored('a')).length >= 10_000);
    const closed = new Promise((resolve) => sent.on('close', resolve));
    sent.destroy();
    await closed;
    assert.equal((await bring(`time,x\n${timeOf(1)},1\n`, 'device=b')).accepted, 1);
    assert.equal((await stored('a')).length, 10_000);
  });

  test('because its user is removed stops there', async () => {
    const token = await server.token('pusher');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' };
    const sent = request(`${server.url}/api/v2/import?device=a`, { method: 'POST', headers });
    const answered = once(sent, 'response');
    sent.write(`time,x\n${rows(6_000)}`);
    await until(async () => (await stored('a')).length >= 5_000);
    await server.call(as, 'DELETE', '/devices/a/shares/pusher');
    sent.end(rows(6_000, 6_000));
    const [response] = await answered;
    const body = JSON.parse((await response.toArray()).join(''));
    assert.deepEqual([body.accepted, body.refused_count], [5_000, 7_000]);
    assert.equal((await stored('a')).length, 5_000);
  });
});

test('a wide file in parts, each with the head and what the answer before said, is as if it came whole', async () => {
  const head = 'Logger 7\nDatum;Temp (°C);y\n';
  // The hour from two to three comes twice.
  const lines = Array.from({ length: 30 }, (_, n) => `27.10.2024 02:${String((n * 4) % 60).padStart(2, '0')};${n},5;${n}\n`); // biome-ignore format: one line
  const query = 'device=a&create_sensors=true&timezone=Europe/Paris';
  await bring(head + lines.join(''), query);
  const whole = [await stored('a', 'Temp'), await stored('a', 'y')];
  const times = (await server.call(as, 'GET', '/devices/a/sensors/y/values?limit=100')).body;
  await server.call(as, 'DELETE', '/devices/a');
  await server.call(as, 'POST', '/devices', { json: { id: 'a', sensors: [{ id: 'y' }] } });
  let next = '';
  for (let at = 0; at < lines.length; at += 7) {
    const answer = await bring(head + lines.slice(at, at + 7).join(''), `${query}${next}`);
    const { head_lines, ...parameters } = answer.next;
    assert.equal(head_lines, 2);
    assert.equal(parameters.line, at + 3 + Math.min(7, lines.length - at));
    next = `&${new URLSearchParams(parameters)}`;
  }
  assert.deepEqual([await stored('a', 'Temp'), await stored('a', 'y')], whole);
  assert.deepEqual((await server.call(as, 'GET', '/devices/a/sensors/y/values?limit=100')).body, times);
});

test('no more imports of one caller than a bound run at once', async () => {
  const token = await server.token(as);
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' };
  const open = Array.from({ length: limits.importsAtOnceMax + 1 }, () => {
    const sent = request(`${server.url}/api/v2/import?device=a`, { method: 'POST', headers });
    sent.on('error', () => {});
    sent.write('time,x\n');
    return { sent, answer: once(sent, 'response').then(([response]) => response.resume()) };
  });
  // The one that came last is answered before it was sent to its end.
  assert.equal((await Promise.race(open.map(({ answer }) => answer))).statusCode, 503);
  for (const { sent } of open) sent.end(`${timeOf(2)},2\n`);
  const statuses = (await Promise.all(open.map(({ answer }) => answer))).map(({ statusCode }) => statusCode);
  assert.equal(statuses.filter((status) => status === 200).length, limits.importsAtOnceMax);
  await bring(`time,x\n${timeOf(1)},1\n`, 'device=a');
});

test('sensors are made with names and units as long as by a request, and no longer', async () => {
  const wide = await bring(`time,${'n'.repeat(300)}\n${timeOf(1)},1\n`, 'device=a&create_sensors=true');
  assert.deepEqual([wide.accepted, wide.created], [0, []]);
  assert.match(wide.refused[0].detail, /more than 256 characters/);
  const text = `time,sensor,unit,value\n${timeOf(1)},wordy,${'u'.repeat(17_000)},1\n`;
  const long = await bring(text, 'device=a&create_sensors=true');
  assert.deepEqual([long.accepted, long.created], [0, []]);
  assert.match(long.refused[0].detail, /more than 16384 bytes/);
});
