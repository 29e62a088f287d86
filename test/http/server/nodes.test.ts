// The servers of the service, for admins: the one that there is on a folder, and all that are on a PostgreSQL database.
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, suite, test } from 'node:test';
import packageJson from '../../../package.json' with { type: 'json' };
import { Refusal } from '../../../src/base/refusal.ts';
import { systemClock } from '../../../src/base/time/clock.ts';
import { openPostgresEngine } from '../../../src/engines/postgres/open.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { databaseOf, runSql } from '../../support/data.ts';
import { engineWith } from '../../support/engine-with.ts';
import { makeKeyOn } from '../../support/keys.ts';
import { setLimits } from '../../support/limits.ts';
import { Client } from '../../support/mqtt/mqtt-client.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const isOnPostgres = process.env['DUNDUN_TEST_ENGINE'] === 'postgres';
const call = 'GET /nodes';

interface Node {
  readonly id: string;
  readonly answering: boolean;
  readonly host?: string;
  readonly started: string;
  readonly last_seen: string;
  readonly alive: boolean;
  readonly behind: { readonly datapoints: number; readonly changes: number };
  readonly leases: readonly string[];
  readonly connections?: { readonly http: number; readonly mqtt: number };
  readonly datapoints_per_second?: number;
}

suite('the servers of the service', () => {
  // Nobody is declared dead, so that one which is silent stays to be seen.
  setLimits({ nodeDeadMs: 24 * 3_600_000 });
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });
  after(() => server.stop());

  const listed = async (): Promise<{ readonly shared: boolean; readonly nodes: readonly Node[] }> =>
    (await make(server, { as: 'admin', call, expect: 200 })).body;
  /** The one that answers, once it has told of itself since what was done before: at once on a folder. */
  const own = async (isTold: (node: Node) => boolean = () => true): Promise<Node> => {
    const found = async () => {
      const node = (await listed()).nodes.find(({ answering }) => answering);
      assert.ok(node !== undefined);
      return node;
    };
    await until(async () => isTold(await found()));
    return found();
  };

  test('are shown to admins alone', async () => {
    await makeAll(server, [
      { as: 'guest', call, expect: 401 },
      { as: 'stranger', call, expect: 403 },
      { as: 'owner', call, expect: 403 },
      { as: 'sharer', call, expect: 403 },
      { as: 'admin', call, expect: 200 },
      { as: 'guest', call, version: 'v1', expect: 404 },
    ]);
  });

  test('are shown to no API key, not even to one of an admin', async () => {
    for (const as of ['admin', 'owner']) {
      const { key } = await makeKeyOn(server, as, {});
      await make(server, { call, headers: { authorization: `Bearer ${key}` }, expect: 403 });
    }
  });

  test('are one, with what it does, who is connected to it and how much comes', async () => {
    const node = await own(
      // At first it may not listen yet.
      (one) => one.host?.includes(':') === true && ['outbox', 'rules/0'].every((lease) => one.leases.includes(lease)),
    );
    const { shared, nodes } = await listed();
    assert.deepEqual([shared, nodes.length], [isOnPostgres, 1]);
    const { id, started, last_seen, leases, connections, ...rest } = node;
    assert.deepEqual(rest, {
      ...{
        answering: true,
        host: `${hostname()}:${new URL(server.url).port}`,
        release: packageJson.version,
        alive: true,
      },
      ...{ behind: { datapoints: 0, changes: 0 }, datapoints_per_second: 0 },
    });
    assert.ok(started <= last_seen);
    assert.equal(new Set(leases).size, leases.length);
    assert.ok(connections !== undefined);
    assert.equal((await own()).id, id);
  });

  test('tell of connections as they come and go, and of datapoints over the last minute', async () => {
    const mqttOf = ({ connections }: Node) => connections?.mqtt;
    await own((node) => mqttOf(node) === 0);
    const clients = await Promise.all([1, 2].map(() => Client.connect(server, 'owner')));
    const { connections } = await own((node) => mqttOf(node) === 2);
    assert.ok((connections?.http ?? 0) >= 1);
    await Promise.all(clients.map((client) => client.end()));
    await own((node) => mqttOf(node) === 0);
    const json = { id: 'd', sensors: [{ id: 's' }] };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    server.clock.advance(30_000);
    for (let value = 0; value < 15; value++)
      await make(server, { as: 'owner', call: 'POST /devices/d/sensors/s/value', json: { value }, expect: 204 });
    await own((node) => node.datapoints_per_second === 0.5);
    server.clock.advance(30_000);
    await own((node) => node.datapoints_per_second === 0.25);
  });

  test('are not told where the database does not answer, but that it does not', async () => {
    const list = async () => {
      throw new Refusal('storage', 'The database does not answer. Send the request again later.', { retryAfterS: 10 });
    };
    const cut = await TestServer.start(
      {},
      { replaceEngine: (engine) => ({ ...engineWith(engine, {}), nodes: { isShared: true, tell: () => {}, list } }) },
    );
    try {
      await make(cut, { as: 'admin', call, expect: 503 });
      assert.match(cut.errors.splice(0).join(), /the storage refused/);
    } finally {
      await cut.stop();
    }
  });

  const testOfShared = isOnPostgres ? test : () => {};
  testOfShared('are all that are on the database, one that is silent too', async () => {
    const url = databaseOf(server.folder) as string;
    const second = await openPostgresEngine(url, { clock: systemClock });
    try {
      second.nodes.tell(() => ({
        ...{ host: 'field-2', release: '0.0.1', connections: { http: 7, mqtt: 8 }, datapointsPerSecond: 1234.567 },
      }));
      await runSql(
        server.folder,
        `INSERT INTO node (id, started, renewed, followed_position)
          VALUES ('gone', now() + interval '1 minute', now() - interval '2 days', 0)`,
      );
      await until(async () => (await listed()).nodes.some(({ host }) => host === 'field-2'));
      const [first, other, gone, ...more] = (await listed()).nodes;
      assert.ok(first !== undefined && other !== undefined && gone !== undefined);
      assert.deepEqual([first.answering, other.answering, gone.answering, more], [true, false, false, []]);
      const { id, started, last_seen, ...told } = other;
      assert.deepEqual(told, {
        ...{ answering: false, host: 'field-2', release: '0.0.1', alive: true, leases: [] },
        behind: { datapoints: 0, changes: 0 },
        ...{ connections: { http: 7, mqtt: 8 }, datapoints_per_second: 1230 },
      });
      assert.notEqual(id, first.id);
      assert.ok(started <= last_seen);
      assert.deepEqual([gone.alive, gone.leases, gone.connections], [false, [], undefined]);
      assert.ok(gone.behind.datapoints >= 15);
      assert.ok(Date.parse(gone.last_seen) < Date.now() - 24 * 3_600_000);
    } finally {
      await runSql(server.folder, "DELETE FROM node WHERE id = 'gone'");
      await second.close();
    }
    await until(async () => (await listed()).nodes.length === 1);
  });
});
