// Two servers, each a process, on one PostgreSQL database: a session of MQTT that one has begun to take from the other, and did not get,
// because the database failed it half way, or did not say that it is taken. Wherever its client comes next, it has its session there,
// with what waits for it.
import assert from 'node:assert/strict';
import { after, afterEach, before, suite, test } from 'node:test';
import { connect, type MqttClient } from 'mqtt';
import pg from 'pg';
import { DatabaseLink } from '../support/crash/database-link.ts';
import { createDatabase, dropDatabase, sharedServer, withoutPostgres } from '../support/postgres.ts';
import { type Dundun, makeDevice, runVerb, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const password = 'talking drum';
const topic = 'devices/d/sensors/a/value';

suite('a session that was taken half way', { skip: withoutPostgres, timeout: 600_000 }, () => {
  let url: string;
  let one: Dundun;
  let two: Dundun;
  /** Holds a table for itself. */
  let holder: pg.Client | undefined;
  const opened: MqttClient[] = [];

  before(async () => {
    url = await createDatabase();
    const options = withLimits({ databaseBusyMs: 1_000 }, { DUNDUN_DATABASE_URL: url });
    one = await startDundun(options);
    two = await startDundun(options);
    const input = `${password}\n`;
    const settings = options.settings ?? {};
    const added = await runVerb(['user', 'add', 'bob', '--password-stdin'], { settings, input });
    assert.equal(added.code, 0, added.stderr);
    await makeDevice(one, 'd', ['a']);
  });
  afterEach(async () => {
    await letGo();
    for (const client of opened.splice(0)) client.end(true);
  });
  after(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await dropDatabase(url);
  });

  const letGo = async () => {
    await holder?.end();
    holder = undefined;
  };

  /** A client, with whether it has a session there and what it hears; what waits may come right behind CONNACK. */
  const open = async (server: Dundun, clientId: string, { clean = false } = {}) => {
    const client = connect(`mqtt://127.0.0.1:${server.ports.mqtt}`, {
      ...{ clientId, clean, reconnectPeriod: 0, protocolVersion: 4, username: 'bob', password },
    });
    opened.push(client);
    const heard: unknown[] = [];
    client.on('message', (_, payload) => void heard.push(JSON.parse(String(payload)).value));
    const isResumed = await new Promise<boolean>((resolve, reject) =>
      client.once('connect', ({ sessionPresent }) => resolve(sessionPresent)).once('error', reject),
    );
    return { client, heard, isResumed };
  };
  const say = async (server: Dundun, value: number) => {
    const { client } = await open(server, 'speaker', { clean: true });
    await client.publishAsync(topic, JSON.stringify({ value }), { qos: 1 });
    await client.endAsync();
  };
  const untilKept = (count: number) =>
    until(async () => {
      const [row] = await (await sharedServer()).query(url, 'SELECT count(*) AS n FROM mqtt_queue');
      return row?.['n'] === count;
    });

  /** A session of server one, with a message that waits in it. */
  const leaveSession = async (clientId: string) => {
    const { client } = await open(one, clientId);
    await client.subscribeAsync(topic, { qos: 1 });
    await client.endAsync();
    await say(one, 1);
    await untilKept(1);
  };
  const isWhole = async (clientId: string) => {
    const { client, heard, isResumed } = await open(one, clientId);
    assert.equal(isResumed, true);
    await until(() => heard.length > 0, { msMax: 20_000 });
    await say(two, 2);
    await until(() => heard.length > 1, { msMax: 20_000 });
    assert.deepEqual(heard, [1, 2]);
    await client.unsubscribeAsync(topic);
    await client.endAsync();
  };

  test('comes to its client at the server that it leaves, where it could not be read', async () => {
    await leaveSession('unread');
    holder = new pg.Client(url);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE mqtt_subscription IN ACCESS EXCLUSIVE MODE');
    await assert.rejects(open(two, 'unread'), /unavailable/i);
    await letGo();
    await isWhole('unread');
  });

  test('comes to its client at the server that it leaves, where the answer that it is taken was lost', async (t) => {
    await leaveSession('unanswered');
    const link = await DatabaseLink.open(url);
    const limits = { databaseBusyMs: 30_000, postgresAnswerMs: 3_500, nodeRenewMs: 4_000, nodeDeadMs: 20_000 };
    const three = await startDundun(withLimits(limits, { DUNDUN_DATABASE_URL: link.url }));
    t.after(async () => {
      await three.stop('SIGKILL');
      link.close();
    });
    // The COMMIT by which a session gets another node waits until the lock is free.
    holder = new pg.Client(url);
    await holder.connect();
    await holder.query(`SELECT pg_advisory_lock(4711);
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER waits AFTER UPDATE OF node ON mqtt_session DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN (NEW.node > 1) EXECUTE FUNCTION wait()`);
    const refused = assert.rejects(open(three, 'unanswered'), /unavailable/i);
    const waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted";
    await until(async () => (await (await sharedServer()).query(url, waiting)).length > 0, { msMax: 20_000 });
    link.cut({ isTold: false });
    await letGo();
    const taken = 'SELECT 1 FROM mqtt_session WHERE node > 1';
    await until(async () => (await (await sharedServer()).query(url, taken)).length > 0, { msMax: 20_000 });
    link.cut({ isTold: true });
    link.heal();
    await refused;
    await (await sharedServer()).query(url, 'DROP TRIGGER waits ON mqtt_session');
    await isWhole('unanswered');
  });
});
