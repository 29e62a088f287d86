// `dundun move`: what is in a data folder is afterwards in a PostgreSQL database, in every answer of the service.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { migratedInMemory } from '../../../src/engines/embedded/database/migrate.ts';
import { PostgresDatabase } from '../../../src/engines/postgres/database/postgres-database.ts';
import { movedTables } from '../../../src/engines/shared/move/moved-data.ts';
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

suite('data of a folder that are moved to PostgreSQL', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let folder: string;
  let url: string;
  const move = () => runVerb(['move', '--to', url], { settings: { DUNDUN_DATA_DIR: folder } });
  const send = async (dundun: Dundun, path: string, options: Parameters<typeof call>[2]) => {
    const answer = await call(dundun, `/api/v2/${path}`, options);
    assert.ok(answer.ok, `${path}: ${answer.status} ${await answer.clone().text()}`);
    return answer;
  };

  before(async () => {
    folder = join(makeFolder(), 'data');
    url = await createDatabase();
    const settings = { DUNDUN_DATA_DIR: folder };
    const added = await runVerb(['user', 'add', 'awa', '--password-stdin'], { settings, input: `${passwordOfAwa}\n` });
    assert.equal(added.code, 0, added.stderr);
  });

  test('are copied beside the service, moved when it is stopped, and all answers are the same', async () => {
    const first = await startDundun({ folder, ...withLimits(sealsSoon) });
    const token = String(await login(first, 'awa', passwordOfAwa));
    const device = {
      ...{ id: 'field', visibility: 'public', name: 'Field é', meta: { a: [1, -0.5] } },
      sensors: [{ id: 'TC', unit: '°C' }, { id: 'text' }, { id: 'level' }],
      actuators: [{ id: 'pump', actuator_value_type: 'bool' }],
    };
    await send(first, 'devices', { token, json: device });
    await send(first, 'devices/field/shares/admin', { token, method: 'PUT', json: { scopes: ['device:view'] } });
    const push = (
      sensor: string,
      values: readonly unknown[],
      from: number,
      { on = first, ...more }: Parameters<typeof call>[2] & { readonly on?: Dundun } = {},
    ) =>
      send(on, `devices/field/sensors/${sensor}/values`, {
        ...more,
        token,
        json: values.map((value, n) => ({ value, timestamp: at(from + n) })),
      });
    await push(
      'TC',
      Array.from({ length: 3_000 }, (_, n) => Math.sin(n) * 20),
      0,
    );
    await push('text', ['a', { b: 'ß' }, true, null, -0, 12345678901234567890n.toString()], 0);
    const rule = {
      condition: { devices: ['field'], sensors: ['level'], expression: 'level>2' },
      action: { usernames: ['awa'], channels: ['none'], message: '{level}' },
    };
    await send(first, 'notifications', { token, json: { description: 'High', ...rule } });
    const listener = await connectAs(first, 'listener');
    await listener.subscribeAsync('users/awa/#', { qos: 1 });
    await listener.endAsync();
    const speaker = await connectAs(first, 'speaker');
    await speaker.publishAsync('users/awa/news', 'kept', { qos: 1, retain: true });
    await speaker.publishAsync('users/awa/more', 'waits', { qos: 1 });
    await speaker.endAsync();
    await pause(1_000);
    const beside = await move();
    assert.equal(beside.code, 0, beside.stderr);
    assert.match(beside.stdout, /^Copied [1-9]\d* blocks of datapoints .* stop it/);
    // Chunks change, and go, behind the copy.
    const removal = await call(first, `/api/v2/devices/field/sensors/TC/values?dateFrom=${at(100)}&dateTo=${at(199)}`, {
      token,
      method: 'DELETE',
    });
    assert.ok(removal.ok, await removal.text());
    await push(
      'TC',
      Array.from({ length: 800 }, (_, n) => n / 8),
      1_000,
    );
    await push('level', [1, 2, 3], 5, { headers: { 'idempotency-key': 'once' } });
    const fired = async (dundun: Dundun) => {
      const own = { token: String(await login(dundun, 'awa', passwordOfAwa)) };
      const [found] = (await (await send(dundun, 'notifications', own)).json()) as { times_sent: number }[];
      return found?.times_sent;
    };
    await until(async () => (await fired(first)) === 1);
    const former = await answersOf(first);
    await first.stop();
    const moved = await move();
    assert.equal(moved.code, 0, moved.stderr);
    assert.match(moved.stdout, /^Moved .*: 3\d\d\d datapoints of 3 sensors, read back and compared/);
    const refused = await startRefused({ folder });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /were moved to PostgreSQL: set DUNDUN_DATABASE_URL/);
    const second = await startDundun({ folder, settings: { DUNDUN_DATABASE_URL: url } });
    const later = await answersOf(second);
    for (const path of paths) assert.equal(later[path], former[path], path);
    // What fired before does not fire again.
    await push('level', [1], 20, { on: second });
    assert.equal(await fired(second), 1);
    // The session, with what waited for it, and the retained message.
    const heard: string[] = [];
    const back = await connectAs(second, 'listener', (topic, payload) => void heard.push(`${topic} ${payload}`));
    await until(() => heard.length === 2);
    assert.deepEqual(heard.toSorted(), ['users/awa/more waits', 'users/awa/news kept']);
    await back.endAsync();
    // A push that was stored is not stored again, and the next keys are new ones.
    const again = await call(second, '/api/v2/devices/field/sensors/level/values', {
      ...{ token: String(await login(second, 'awa', passwordOfAwa)), headers: { 'idempotency-key': 'once' } },
      json: [1, 2, 3].map((value, n) => ({ value, timestamp: at(5 + n) })),
    });
    assert.ok(again.ok);
    await send(second, 'devices', { token: String(await login(second)), json: { id: 'new', sensors: [{ id: 's' }] } });
    const level = await call(second, '/api/v2/devices/field/sensors/level/values?lastN=10');
    assert.equal(((await level.json()) as unknown[]).length, 4);
    await second.stop();
  });

  test('are refused a database that has others', async () => {
    const other = join(makeFolder(), 'data');
    const dundun = await startDundun({ folder: other });
    const refused = await runVerb(['move', '--to', url], { settings: { DUNDUN_DATA_DIR: other } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /has data already/);
    await dundun.stop();
    const wrong = await runVerb(['move', '--to', 'mysql://x'], { settings: { DUNDUN_DATA_DIR: other } });
    assert.match(wrong.stderr, /postgres:\/\//);
  });

  test('no server starts on a database into which a move has begun and not ended', async () => {
    const half = await createDatabase();
    const other = join(makeFolder(), 'data');
    const dundun = await startDundun({ folder: other });
    const begun = await runVerb(['move', '--to', half], { settings: { DUNDUN_DATA_DIR: other } });
    assert.equal(begun.code, 0, begun.stderr);
    const refused = await startRefused({ folder: other, settings: { DUNDUN_DATABASE_URL: half } });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /has not come to its end/);
    await dundun.stop();
  });
});

test('every table is moved as it is, or named as one that is not', { skip: withoutPostgres }, async () => {
  const inOtherForm = ['chunk', 'latest', 'log', 'replay_backlog', 'rules_skipped', 'counter', 'receipt', 'quota'];
  // Empty once all is sealed and no removal is under way; or of the folder alone.
  const ofFolders = ['sealing', 'deletion', 'damaged_log', 'kysely_migration', 'kysely_migration_lock'];
  const database = await migratedInMemory();
  const columnsOf = (table: string) => database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all();
  const columns = movedTables.flatMap((table) => columnsOf(table).map(({ name }) => `${table}.${name}`));
  const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").all();
  const names = rows.map(({ name }) => String(name)).filter((name) => !name.startsWith('sqlite_'));
  database.close();
  assert.deepEqual(names.toSorted(), [...movedTables, ...inOtherForm, ...ofFolders].toSorted());
  const postgres = new PostgresDatabase(await createDatabase());
  const found = await postgres.query<{ table: string; name: string }>(
    "SELECT table_name AS table, column_name AS name FROM information_schema.columns WHERE table_schema = 'public'",
  );
  await postgres.close();
  const moved = new Set<string>(movedTables);
  const there = found.filter(({ table }) => moved.has(table)).map(({ table, name }) => `${table}.${name}`);
  // Which server of several has it, in which form, and up to which row of the log; and a key that nobody else knows.
  const ofSession = ['node', 'format', 'kept_row', 'kept_node'].map((column) => `mqtt_session.${column}`);
  const ofDatabases = [...ofSession, 'mqtt_message.node', 'mqtt_queue.node'];
  const ofFolder = ['damaged_chunk.id'];
  assert.deepEqual([...there, ...ofFolder].toSorted(), [...columns, ...ofDatabases].toSorted());
});
