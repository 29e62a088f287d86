// `dundun move` from a database back to a folder: what went there and what came since is in the folder, in every answer of the service.
import assert from 'node:assert/strict';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { moveData } from '../../../src/engines/open.ts';
import { answersOf, at, connectAs, passwordOfAwa, paths, sealsSoon } from '../../support/moved-answers.ts';
import { createDatabase, withoutPostgres } from '../../support/postgres.ts';
import {
  call,
  type Dundun,
  login,
  makeFolder,
  runVerb,
  startDundun,
  startRefused,
  withLimits,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';

const large = '12345678901234567890123456789';
const texts = ['a', { b: 'ß' }, true, null, -0, 1e300, 5e-324, '\u0001', large];

type Options = Parameters<typeof call>[2];

async function send(dundun: Dundun, path: string, options: Options): Promise<Response> {
  const answer = await call(dundun, `/api/v2/${path}`, options);
  assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer;
}

const awa = (dundun: Dundun) => login(dundun, 'awa', passwordOfAwa).then(String);

async function push(
  dundun: Dundun,
  sensor: string,
  values: readonly unknown[],
  { from = 0, ...options }: Options & { readonly from?: number },
): Promise<void> {
  const json = values.map((value, n) => ({ value, timestamp: at(from + n) }));
  await send(dundun, `devices/field/sensors/${sensor}/values`, { ...options, json });
}

async function timesFired(dundun: Dundun): Promise<number | undefined> {
  const answer = await send(dundun, 'notifications', { token: await awa(dundun) });
  return ((await answer.json()) as { times_sent: number }[])[0]?.times_sent;
}

async function countValues(dundun: Dundun, sensor: string): Promise<number> {
  const answer = await send(dundun, `devices/field/sensors/${sensor}/values?lastN=30000`, {});
  return ((await answer.json()) as unknown[]).length;
}

/** What waits for a kept session, or so much of it. */
async function heardBy(dundun: Dundun, clientId: string, count: number): Promise<string[]> {
  const heard: string[] = [];
  const client = await connectAs(dundun, clientId, (_topic, payload) => void heard.push(String(payload)));
  await until(() => heard.length >= count, { msMax: 20_000, otherwise: () => heard });
  await client.endAsync();
  return heard;
}

/** A user with a device, a rule, a kept session for which messages wait, and a retained message. */
async function fill(dundun: Dundun): Promise<void> {
  const token = await awa(dundun);
  const device = {
    ...{ id: 'field', visibility: 'public', name: 'Field é', meta: { a: [1, -0.5] } },
    sensors: [{ id: 'TC', unit: '°C' }, { id: 'text' }, { id: 'level' }],
    actuators: [{ id: 'pump', actuator_value_type: 'bool' }],
  };
  await send(dundun, 'devices', { token, json: device });
  await send(dundun, 'devices/field/shares/admin', { token, method: 'PUT', json: { scopes: ['device:view'] } });
  const many = Array.from({ length: 3_000 }, (_, n) => Math.sin(n) * 20);
  await push(dundun, 'TC', many, { token });
  await push(dundun, 'text', texts, { token });
  const rule = {
    condition: { devices: ['field'], sensors: ['level'], expression: 'level>2' },
    action: { usernames: ['awa'], channels: ['none'], message: '{level}' },
  };
  await send(dundun, 'notifications', { token, json: { description: 'High', ...rule } });
  const listener = await connectAs(dundun, 'listener');
  await listener.subscribeAsync('users/awa/#', { qos: 1 });
  await listener.endAsync();
  const speaker = await connectAs(dundun, 'speaker');
  await speaker.publishAsync('users/awa/news', 'kept', { qos: 1, retain: true });
  await speaker.endAsync();
}

/** What changes while the data are in the database. */
async function change(dundun: Dundun): Promise<void> {
  const token = await awa(dundun);
  const removed = `devices/field/sensors/TC/values?dateFrom=${at(100)}&dateTo=${at(199)}`;
  await send(dundun, removed, { token, method: 'DELETE' });
  const more = Array.from({ length: 800 }, (_, n) => n / 8);
  await push(dundun, 'TC', more, { token, from: 1_000 });
  await push(dundun, 'level', [1, 2, 3], { token, from: 5, headers: { 'idempotency-key': 'once' } });
  await push(dundun, 'text', ['again', 7], { token, from: 50 });
  await until(async () => (await timesFired(dundun)) === 1);
  await send(dundun, 'gateways', { token, json: { id: 'hut' } });
  const gateway = await connectAs(dundun, 'hut');
  await gateway.endAsync();
  await until(async () => {
    const [hut] = (await (await send(dundun, 'gateways', { token })).json()) as Record<string, unknown>[];
    return hut?.['connected'] === false && typeof hut['last_seen'] === 'string';
  });
  const speaker = await connectAs(dundun, 'speaker');
  for (const word of ['one', 'two', 'three']) await speaker.publishAsync('users/awa/more', word, { qos: 1 });
  await speaker.endAsync();
}

suite('data that are moved from PostgreSQL to a folder', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let url: string;
  let first: string;
  const settingsOf = () => ({ DUNDUN_DATA_DIR: first, DUNDUN_DATABASE_URL: url });
  const moveTo = (folder: string) => runVerb(['move', '--to', folder], { settings: settingsOf() });
  const started = (limits = {}) =>
    startDundun({ folder: first, ...withLimits(limits), settings: { DUNDUN_DATABASE_URL: url } });

  before(async () => {
    first = join(makeFolder(), 'data');
    url = await createDatabase();
    const settings = { DUNDUN_DATA_DIR: first };
    const added = await runVerb(['user', 'add', 'awa', '--password-stdin'], { settings, input: `${passwordOfAwa}\n` });
    assert.equal(added.code, 0, added.stderr);
    const dundun = await startDundun({ folder: first });
    await fill(dundun);
    await dundun.stop();
    const moved = await runVerb(['move', '--to', url], { settings });
    assert.match(moved.stdout, /^Moved /, moved.stderr);
  });

  test('are copied beside the servers, moved when all are stopped, and all answers are the same', async () => {
    const folder = join(makeFolder(), 'back');
    const there = await started(sealsSoon);
    await push(there, 'TC', Array.from({ length: 1_200 }, Math.random), { token: await awa(there), from: 5_000 });
    // Another server has a session, too, for which messages wait that it has numbered itself.
    const other = await started();
    const subscriber = await connectAs(other, 'of the other');
    await subscriber.subscribeAsync('users/awa/more', { qos: 1 });
    await subscriber.endAsync();
    const beside = await moveTo(folder);
    assert.equal(beside.code, 0, beside.stderr);
    assert.match(beside.stdout, /^Copied [1-9]\d* blocks of datapoints of the database .* stop it/);
    const early = await startRefused({ folder });
    assert.match(early.stderr, /move of data into the folder .* has not come to its end/);
    await change(there);
    const token = await awa(there);
    const made = await send(there, 'auth/keys', { token, json: { name: 'of the database' } });
    const { key } = (await made.json()) as { key: string };
    const revoked = await send(there, 'auth/keys', { token, json: { name: 'revoked' } });
    const { id: revokedId, key: revokedKey } = (await revoked.json()) as { id: string; key: string };
    await send(there, `auth/keys/${revokedId}`, { token, method: 'DELETE' });
    const former = await answersOf(there);
    await there.stop();
    // It counts as dead some seconds later: the move waits for that.
    other.child.kill('SIGKILL');
    await other.exit;
    const moved = await moveTo(folder);
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /^Moved the database: 4\d\d\d datapoints of 3 sensors, read back and compared/);
    const refused = await startRefused({ folder: first, settings: { DUNDUN_DATABASE_URL: url } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /were moved to the folder .*back: set DUNDUN_DATA_DIR/);
    const command = await runVerb(['user', 'list'], { settings: settingsOf() });
    assert.match(command.stderr, /were moved to the folder/);
    const checked = await runVerb(['check', folder]);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
    const back = await startDundun({ folder });
    const later = await answersOf(back);
    for (const path of paths) assert.equal(later[path], former[path], path);
    // Tokens and keys of then hold, and a push that was stored is not stored again; with other values it is refused.
    const stored = await countValues(back, 'level');
    const repeated = { from: 5, headers: { 'idempotency-key': 'once' } };
    await push(back, 'level', [1, 2, 3], { token, ...repeated });
    assert.equal(await countValues(back, 'level'), stored);
    await push(back, 'text', ['again', 7], { token, from: 50 });
    assert.equal(await countValues(back, 'text'), texts.length + 2);
    const different = await call(back, '/api/v2/devices/field/sensors/level/values', {
      ...{ token, headers: { 'idempotency-key': 'once' } },
      json: [{ value: 9, timestamp: at(5) }],
    });
    assert.equal(different.status, 422, await different.text());
    assert.ok((await call(back, '/api/v2/users/me', { token: key })).ok);
    assert.equal((await call(back, '/api/v2/users/me', { token: revokedKey })).status, 401);
    // What fired before does not fire again until it was below; then it does.
    await push(back, 'level', [1], { token, from: 20 });
    assert.equal(await timesFired(back), 1);
    await push(back, 'level', [4], { token, from: 21 });
    await until(async () => (await timesFired(back)) === 2);
    assert.deepEqual(await heardBy(back, 'listener', 4), ['kept', 'one', 'two', 'three']);
    assert.deepEqual(await heardBy(back, 'of the other', 3), ['one', 'two', 'three']);
    // Keys go on behind all that there were.
    await send(back, 'devices', { token, json: { id: 'new', sensors: [{ id: 's' }] } });
    await back.stop();
    const again = await runVerb(['move', '--to', await createDatabase()], { settings: { DUNDUN_DATA_DIR: folder } });
    assert.match(again.stdout, /^Moved /, again.stderr);
  });
});

suite('a move from PostgreSQL to a folder', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let url: string;
  const quietly = () => {};
  const filled = async () => {
    const address = await createDatabase();
    const settings = { DUNDUN_DATABASE_URL: address };
    const added = await runVerb(['user', 'add', 'awa', '--password-stdin'], { settings, input: `${passwordOfAwa}\n` });
    assert.equal(added.code, 0, added.stderr);
    const dundun = await startDundun({ settings });
    await fill(dundun);
    await dundun.stop();
    return address;
  };
  const move = (to: string, onStep: (step: string) => void = quietly) =>
    moveData({ dataDir: 'unused', databaseUrl: url, to, onStep });

  before(async () => {
    url = await filled();
  });

  test('is refused a folder that has other data, or the half of another move, and what is no folder', async () => {
    const used = join(makeFolder(), 'data');
    const dundun = await startDundun({ folder: used });
    await assert.rejects(move(used), { code: 'conflict', message: /Another Dundun already uses/ });
    await dundun.stop();
    await assert.rejects(move(used), { code: 'conflict', message: /has data already/ });
    await assert.rejects(
      async () => move('mysql://x'),
      (error: Error) => /Name a folder/.test(error.message),
    );
    const half = join(makeFolder(), 'half');
    const other = await createDatabase();
    const cut = (step: string) => {
      if (step === 'reading back' || step === 'copying records') throw new Error('cut off');
    };
    await assert.rejects(moveData({ dataDir: '', databaseUrl: other, to: half, onStep: cut }), /cut off/);
    await assert.rejects(move(half), { code: 'conflict', message: /from postgres:\/\/.* has begun/ });
  });

  test('does not end while a server runs, and goes on from wherever it was cut off', async () => {
    const folder = join(makeFolder(), 'back');
    const dundun = await startDundun({ settings: { DUNDUN_DATABASE_URL: url } });
    const { moved: none } = await move(folder);
    assert.equal(none, undefined);
    await dundun.stop();
    for (const [n, last] of ['compressing the last datapoints', 'copying records', 'reading back'].entries()) {
      const cut = (step: string) => {
        if (step === last) throw new Error(`cut off at ${last}`);
      };
      await assert.rejects(move(folder, cut), { message: `cut off at ${last}` });
      assert.match((await startRefused({ folder })).stderr, /has not come to its end/);
      const there = await startDundun({ settings: { DUNDUN_DATABASE_URL: url } });
      await push(there, 'level', [0], { token: await awa(there), from: n });
      await there.stop();
    }
    const { moved } = await move(folder);
    assert.equal(moved?.datapoints, 3_000 + texts.length + 3);
    // As if it had been cut off between the note in the database and the end.
    renameSync(join(folder, 'dundun.sqlite'), join(folder, 'dundun.sqlite.moving'));
    assert.match((await startRefused({ folder })).stderr, /has not come to its end/);
    assert.equal((await move(folder)).moved?.datapoints, moved?.datapoints);
    assert.ok(existsSync(join(folder, 'dundun.sqlite')));
    await assert.rejects(move(folder), { code: 'conflict', message: /were moved to the folder/ });
    const back = await startDundun({ folder });
    assert.equal(await countValues(back, 'TC'), 3_000);
    await back.stop();
  });
});
