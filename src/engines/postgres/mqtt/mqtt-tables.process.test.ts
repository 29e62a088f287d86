// What becomes of changes of MQTT state in PostgreSQL when the connection breaks, another process takes the sessions over, or one
// of them is no good.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { setLimits } from '../../../../test/support/limits.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { limits } from '../../../config/limits.ts';
import { MqttPersistence } from '../../shared/mqtt/mqtt-persistence.ts';
import { client, isRefusal, message, payloads, read } from '../../shared/mqtt/mqtt-runs.suite.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { PostgresMqttTables } from './mqtt-tables.ts';

async function makeDatabase(t: TestContext): Promise<PostgresDatabase> {
  const url = await createDatabase();
  const database = new PostgresDatabase(url);
  t.after(async () => {
    await database.close();
    await dropDatabase(url);
  });
  return database;
}

async function open(database: PostgresDatabase, run: string, holder?: string): Promise<MqttPersistence> {
  const persistence = new MqttPersistence({
    tables: new PostgresMqttTables({ database, ...(holder !== undefined && { holder }) }),
    matchesForm: () => true,
  });
  await persistence.setup({ id: run });
  persistence.beginFollowing();
  return persistence;
}

/** An address of the same database behind a socket of the test, which can cut what goes through it. */
async function cuttableUrl(
  t: TestContext,
  url: string,
): Promise<{ readonly url: string; isAway: boolean; cut(): void }> {
  const address = new URL(url);
  const name = '.s.PGSQL.5432';
  const target = join(address.searchParams.get('host') ?? '', name);
  const folder = await mkdtemp(join(tmpdir(), 'dundun-cut-'));
  address.searchParams.set('host', folder);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (cuttable.isAway) {
      socket.destroy();
      return;
    }
    const beyond = connect(target);
    for (const [one, other] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  const cuttable = { url: address.href, isAway: false, cut };
  await new Promise<void>((resolve) => server.listen(join(folder, name), resolve));
  t.after(async () => {
    cut();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  return cuttable;
}

/** The same database twice: directly, and by the address that can be cut. */
async function makeCuttable(t: TestContext) {
  const url = await createDatabase();
  const cuttable = await cuttableUrl(t, url);
  const [direct, database] = [new PostgresDatabase(url), new PostgresDatabase(cuttable.url)];
  t.after(async () => {
    await Promise.all([direct.close(), database.close()]);
    await dropDatabase(url);
  });
  return { cuttable, direct, database };
}

async function makeCommitsSlow(database: PostgresDatabase): Promise<void> {
  await database.query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END $$`);
  await database.query(`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON mqtt_message DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION slow()`);
}

const commits = `FROM pg_stat_activity WHERE datname = current_database()
  AND application_name = 'dundun mqtt' AND state = 'active' AND query = 'COMMIT'`;

suite('tables of MQTT on PostgreSQL', { skip: withoutPostgres }, () => {
  setLimits({ sessionsTakenEveryMs: 50 });

  test('while the connection breaks again and again, what was acknowledged is stored once, and what was refused is not', async (t) => {
    const database = await makeDatabase(t);
    const persistence = await open(database, 'run');
    let isDone = false;
    let kills = 0;
    const killing = (async () => {
      while (!isDone) {
        const [killed] = await database.query<{ n: number }>(
          `SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'dundun mqtt'`,
        );
        kills += killed?.n ?? 0;
      }
    })();
    const acknowledged: string[] = [];
    let refused = 0;
    for (let number = 1; number <= 200 || kills < 8 || refused === 0; number++) {
      await persistence.outgoingEnqueue({ clientId: 'c1' }, message(number)).then(
        () => acknowledged.push(`m${number}`),
        (error) => {
          assert.ok(isRefusal('storage')(error), String(error));
          refused += 1;
        },
      );
    }
    isDone = true;
    await killing;
    await until(() =>
      persistence.outgoingEnqueue({ clientId: 'c1' }, message(0, { payload: 'last' })).then(
        () => true,
        () => false,
      ),
    );
    assert.deepEqual(await payloads(persistence.outgoingStream(client)), [...acknowledged, 'last']);
    await persistence.destroy();
    const again = await open(database, 'next');
    assert.deepEqual(await payloads(again.outgoingStream(client)), [...acknowledged, 'last']);
    await again.destroy();
  });

  test('a connection that breaks during a commit leaves nobody with the wrong answer', async (t) => {
    const { cuttable, direct, database } = await makeCuttable(t);
    await makeCommitsSlow(direct);
    const persistence = await open(database, 'run');
    const committing = () => until(async () => (await direct.query(`SELECT 1 ${commits}`)).length > 0);

    // The server goes on with the commit, and nobody is there for its answer.
    const committed = persistence.outgoingEnqueue({ clientId: 'c1' }, message(1));
    await committing();
    cuttable.cut();
    await committed;
    const ended = persistence.outgoingEnqueue({ clientId: 'c1' }, message(2));
    const refused = assert.rejects(ended, isRefusal('storage'));
    await committing();
    await direct.query(`SELECT pg_terminate_backend(pid) ${commits}`);
    await refused;
    assert.deepEqual(await payloads(persistence.outgoingStream(client)), ['m1']);
    await persistence.destroy();
  });

  test('while the database is away what was promised waits in its place, and all else is refused at once', async (t) => {
    const { cuttable, direct, database } = await makeCuttable(t);
    const persistence = await open(database, 'run');
    await persistence.addSubscriptions({ id: 'c1' }, [{ topic: 'a', qos: 1 }]);
    const promise = (number: number) =>
      persistence.enqueueForSubscribers(message(number, { topic: 'a' }), { isPromised: true });
    await makeCommitsSlow(direct);
    // Nobody is there for the answer of its commit.
    const promised = [promise(1)];
    await until(async () => (await direct.query(`SELECT 1 ${commits}`)).length > 0);
    cuttable.isAway = true;
    cuttable.cut();
    for (let n = 2; n < 6; n++) {
      promised.push(promise(n));
      await assert.rejects(persistence.outgoingEnqueue({ clientId: 'c1' }, message(0)), isRefusal('storage'));
      await delay(limits.mqttWriteRetryMs);
    }
    cuttable.isAway = false;
    await Promise.all(promised);
    assert.deepEqual(await payloads(persistence.outgoingStream(client)), ['m1', 'm2', 'm3', 'm4', 'm5']);
    await persistence.destroy();
  });

  test('a process that another has taken over from stores nothing any more', async (t) => {
    const database = await makeDatabase(t);
    const former = await open(database, 'former');
    await former.outgoingEnqueue({ clientId: 'c1' }, message(1));
    const next = await open(database, 'next');
    await assert.rejects(former.outgoingEnqueue({ clientId: 'c1' }, message(2)), isRefusal('storage'));
    await assert.rejects(former.storeRetained(message(3, { retain: true })), isRefusal('storage'));
    await next.outgoingEnqueue({ clientId: 'c1' }, message(4));
    assert.deepEqual(await payloads(next.outgoingStream(client)), ['m1', 'm4']);
    assert.deepEqual(await payloads(next.createRetainedStream('#')), []);
    await Promise.all([former.destroy(), next.destroy()]);
  });

  test('a session that one lets go another takes with all that waits for it, and that of one that lives it does not', async (t) => {
    const database = await makeDatabase(t);
    await database.query("INSERT INTO node (id) VALUES ('a'), ('b')");
    const [a, b] = [await open(database, 'run-a', 'a'), await open(database, 'run-b', 'b')];
    for (const number of [1, 2, 3, 4, 5]) await b.outgoingEnqueue({ clientId: 'of-b' }, message(number));
    await a.addSubscriptions(client, [{ topic: 'x/#', qos: 1, nl: true }]);
    for (const number of [1, 2, 3])
      await a.outgoingEnqueueCombi([{ clientId: 'c1' }, { clientId: 'c2' }], message(number));
    const [first] = await read(a.outgoingStream(client));
    await a.outgoingUpdate(client, { ...first, messageId: 7 });
    await a.incomingStorePacket(client, { topic: 'in', payload: 'qos 2', qos: 2, messageId: 9 });
    const factsOf = (persistence: MqttPersistence) => {
      const facts = persistence.findSession('c1');
      return { ...facts, filters: Array.from(facts?.filters ?? [], ([filter, { qos, nl }]) => [filter, qos, nl]) };
    };
    const facts = factsOf(a);
    assert.deepEqual([facts.waitingMessages, facts.filters], [3, [['x/#', 1, true]]]);
    await b.takeSession('c1');
    assert.equal(b.findSession('c1'), undefined);
    await a.letGoSession('c1');
    assert.equal(a.findSession('c1'), undefined);
    await b.takeSession('c1');
    assert.deepEqual(factsOf(b), facts);
    await b.outgoingEnqueue({ clientId: 'c1' }, message(4));
    const waiting = await read(b.outgoingStream(client));
    assert.deepEqual(
      waiting.map(({ payload, messageId }) => [String(payload), messageId]),
      [['m1', 7], ['m2', undefined], ['m3', undefined], ['m4', undefined]], // biome-ignore format: short
    );
    assert.equal(String((await b.incomingGetPacket(client, { messageId: 9 })).payload), 'qos 2');
    await b.outgoingClearMessageId(client, { messageId: 7 });
    assert.deepEqual(await payloads(b.outgoingStream(client)), ['m2', 'm3', 'm4']);
    // What others wait for stays where it is, and can be taken back.
    assert.deepEqual(await payloads(a.outgoingStream({ id: 'c2' })), ['m1', 'm2', 'm3']);
    assert.deepEqual(await payloads(b.outgoingStream({ id: 'of-b' })), ['m1', 'm2', 'm3', 'm4', 'm5']);
    await b.letGoSession('c1');
    await a.takeSession('c1');
    assert.deepEqual(await payloads(a.outgoingStream(client)), ['m2', 'm3', 'm4']);
    await a.endSession('c1');
    await a.endSession('c2');
    await b.endSession('of-b');
    for (const table of ['mqtt_session', 'mqtt_queue', 'mqtt_message', 'mqtt_incoming', 'mqtt_subscription'])
      assert.deepEqual(await database.query(`SELECT * FROM ${table}`), [], table);
    await Promise.all([a.destroy(), b.destroy()]);
  });

  test('sessions of one that is gone are taken over, and it stores nothing for them any more', async (t) => {
    const database = await makeDatabase(t);
    await database.query("INSERT INTO node (id) VALUES ('a'), ('b')");
    const [a, b] = [await open(database, 'run-a', 'a'), await open(database, 'run-b', 'b')];
    for (const clientId of ['c1', 'c2']) await a.outgoingEnqueue({ clientId }, message(1));
    await database.query("DELETE FROM node WHERE id = 'a'");
    await until(() => b.findSession('c2') !== undefined && b.findSession('c1') !== undefined);
    await assert.rejects(a.outgoingEnqueue({ clientId: 'c1' }, message(2)), isRefusal('storage'));
    await b.outgoingEnqueue({ clientId: 'c1' }, message(3));
    assert.deepEqual(await payloads(b.outgoingStream(client)), ['m1', 'm3']);
    await Promise.all([a.destroy(), b.destroy()]);
  });

  test('up to which row messages are kept is forgotten where a release that does not know of it takes the session', async (t) => {
    const database = await makeDatabase(t);
    await database.query("INSERT INTO node (id) VALUES ('a')");
    const a = await open(database, 'run-a', 'a');
    await a.outgoingEnqueue({ clientId: 'c1' }, message(1));
    const kept = async () => {
      const [row] = await database.query<{ row: number | null; of: number | null }>(
        'SELECT kept_row AS "row", kept_node AS "of" FROM mqtt_session',
      );
      return row;
    };
    await a.letGoSession('c1');
    assert.deepEqual(await kept(), { row: 0, of: null });
    await database.query('UPDATE mqtt_session SET node = 7');
    assert.deepEqual(await kept(), { row: null, of: null });
    await a.destroy();
  });

  test('what PostgreSQL cannot store is refused alone', async (t) => {
    const persistence = await open(await makeDatabase(t), 'run');
    const [first, bad, last] = await Promise.allSettled([
      persistence.outgoingEnqueue({ clientId: 'c1' }, message(1)),
      persistence.outgoingEnqueue({ clientId: 'c1' }, message(2, { topic: 'a\0b' })),
      persistence.outgoingEnqueue({ clientId: 'c1' }, message(3)),
    ]);
    assert.deepEqual([first?.status, bad?.status, last?.status], ['fulfilled', 'rejected', 'fulfilled']);
    assert.deepEqual(await payloads(persistence.outgoingStream(client)), ['m1', 'm3']);
    assert.equal(persistence.findSession('c1')?.waitingMessages, 2);
    await persistence.destroy();
  });

  test('what users take is counted in the table of quotas', async (t) => {
    const database = await makeDatabase(t);
    const [user] = await database.query<{ key: number }>(
      `INSERT INTO "user" (id, username, profile, admin, created_time) VALUES ('u', 'u', '{}', 0, 1) RETURNING key`,
    );
    const key = user?.key ?? 0;
    const usage = async () => {
      const columns = 'mqtt_sessions AS sessions, mqtt_session_bytes AS bytes, retained_bytes AS retained';
      return (await database.query<Record<string, number>>(`SELECT ${columns} FROM usage WHERE "user" = $1`, [key]))[0];
    };
    const persistence = await open(database, 'run');
    await persistence.claimSession('c1', key);
    const retain = (topic: string, payload: string, user = key) =>
      persistence.storeRetained({ cmd: 'publish', topic, payload, qos: 1, retain: true, user });
    await Promise.all([retain('a', 'xx'), retain('a', 'x'), retain('b', 'xxx')]);
    await retain('b', '');
    await persistence.idle();
    const { bytes = 0, ...held } = (await usage()) ?? {};
    assert.deepEqual(held, { sessions: 1, retained: 66 });
    assert.ok(bytes > 0);
    assert.deepEqual(await persistence.capacityToRetain(key, [{ topic: 'a', payload: 'xxxx' }]), {
      ...{ isAllowed: true, used: 66, amount: 3, limit: Number.POSITIVE_INFINITY },
    });
    await persistence.endSession('c1');
    await retain('a', '');
    await persistence.idle();
    assert.deepEqual({ ...(await usage()) }, { sessions: 0, bytes: 0, retained: 0 });
    await persistence.destroy();
  });
});
