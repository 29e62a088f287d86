// Servers of two releases on one database, under load: one after the other is replaced by the next release (test/support/next-release.ts). A
// ledger says what must be there; whoever listens hears each datapoint once; what the former release could not live with comes when it
// is gone, and then it starts no more.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connectAsync, type MqttClient } from 'mqtt';
import { formats } from '../../src/engines/postgres/database/formats.ts';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { FleetLoad, untilAllWork } from '../support/crash/fleet-load.ts';
import type { Ledger, Sent } from '../support/crash/ledger.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../support/postgres.ts';
import { Dundun, runVerb, type ServeOptions, startRefused, withImports, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const adding = '9001-next-adding';
const closing = '9002-next-closing';
const settledMs = 2_000;
const tight = {
  ...{ sealRowsMin: 500, sealRowsMax: 500, sealQuietRowsMin: 1, sealQuietMs: 50, chunkDatapointsWanted: 64 },
  ...{ upgradeSettledMs: settledMs, upgradeLookMs: 100 },
};
const sensors = ['a', 'b', 'c', 'all', 'qos1', 'qos2'];

/** Hears the values of one server, from when it has subscribed until it is closed. */
class Listener {
  readonly #client: MqttClient;
  readonly #ledger: Ledger;
  readonly #before: ReadonlySet<Sent>;
  readonly #heard = new Map<number, number>();

  private constructor(client: MqttClient, ledger: Ledger) {
    this.#client = client;
    this.#ledger = ledger;
    client.on('message', (_topic, payload) => {
      const said = JSON.parse(payload.toString()) as number | { readonly value: number };
      const value = typeof said === 'number' ? said : said.value;
      this.#heard.set(value, (this.#heard.get(value) ?? 0) + 1);
    });
    this.#before = new Set(this.#sent());
  }

  static async open({ ports }: Dundun, ledger: Ledger): Promise<Listener> {
    const client = await connectAsync(`mqtt://127.0.0.1:${ports.mqtt}`, { reconnectPeriod: 0 });
    await client.subscribeAsync('devices/fleet/#', { qos: 1 });
    return new Listener(client, ledger);
  }

  /** What was acknowledged meanwhile was heard once. @returns how many that were. */
  async close(): Promise<number> {
    const due = this.#sent().filter((sent) => sent.told === 'stored' && !this.#before.has(sent));
    await until(() => due.every(({ first }) => this.#heard.has(first)), {
      msMax: 20_000,
      otherwise: () => `not heard: ${due.filter(({ first }) => !this.#heard.has(first)).map(({ first }) => first)}`,
    });
    for (const [value, times] of this.#heard) assert.equal(times, 1, `${value} was heard ${times} times`);
    await this.#client.endAsync();
    return due.length;
  }

  #sent(): Sent[] {
    return sensors.flatMap((sensor) => this.#ledger.pushesTo(sensor));
  }
}

suite('servers of two releases on one database', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let url: string;
  let database: PostgresDatabase;
  let former: ServeOptions;
  let next: ServeOptions;
  const fleet: Dundun[] = [];
  let load: FleetLoad | undefined;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    former = withLimits(tight, { DUNDUN_DATABASE_URL: url });
    next = { ...former, command: withImports('tight-limits.ts', 'next-release.ts') };
  });
  after(async () => {
    load?.end();
    await Promise.all(fleet.map((dundun) => dundun.stop('SIGKILL')));
    await database?.close();
    await dropDatabase(url);
  });

  const start = async (n: number, options: ServeOptions): Promise<Dundun> => {
    const dundun = new Dundun(options);
    await dundun.ready;
    fleet[n] = dundun;
    return dundun;
  };
  const hasRun = async (name: string) =>
    (await database.query('SELECT 1 FROM kysely_migration WHERE name = $1', [name])).length > 0;
  const storedFormat = async (kind: string) =>
    (await database.query<{ newest: number }>('SELECT newest FROM stored_format WHERE kind = $1', [kind]))[0]?.newest;
  const newestByte = async (table: string) =>
    (await database.query<{ byte: number }>(`SELECT max(get_byte(bytes, 0)) AS byte FROM ${table}`))[0]?.byte;
  /** All servers have been there for longer than one waits before it shuts the former release out. */
  const settled = () =>
    until(async () => {
      const young = 'SELECT 1 FROM node WHERE started > clock_timestamp() - make_interval(secs => $1)';
      return (await database.query(young, [(1.5 * settledMs) / 1_000])).length === 0;
    });

  test('are replaced one by one under load: nothing is lost or doubled, and the former one is shut out when it is gone', async (t) => {
    const [one, two] = [await start(0, former), await start(1, former)];
    load = await FleetLoad.start(fleet);
    const { ledger } = load;
    const early = await Listener.open(two, ledger);

    assert.equal((await one.stop()).code, 0);
    const newOne = await start(0, next);
    assert.deepEqual([await hasRun(adding), await hasRun(closing)], [true, false]);
    await untilAllWork(fleet);
    // Both go on as they are for as long as one of the former release is there, which may also start anew.
    const again = new Dundun(former);
    await again.ready;
    const told = await runVerb(['nodes', '--json'], { settings: former.settings ?? {} });
    const { nodes } = JSON.parse(told.stdout) as { nodes: { figures?: { release: string } }[] };
    assert.equal(nodes.length, 3, told.stderr);
    assert.ok(nodes.every(({ figures }) => figures === undefined || /^\d+\.\d+\.\d+/.test(figures.release)));
    await settled();
    assert.equal((await again.stop()).code, 0);
    await settled();
    assert.equal(await hasRun(closing), false);
    assert.deepEqual([await storedFormat('log'), await newestByte('log')], [formats.log.newest, formats.log.newest]);

    const late = await Listener.open(newOne, ledger);
    const heardEarly = await early.close();
    assert.equal((await two.stop()).code, 0);
    const newTwo = await start(1, next);
    await until(() => hasRun(closing));
    await until(async () => (await storedFormat('log')) === formats.log.newest + 1);
    await until(async () => (await newestByte('log')) === formats.log.newest + 1);
    await until(async () => (await newestByte('chunk')) === formats.chunk.newest + 1);
    const heardLate = await late.close();
    const closed = [newOne, newTwo].filter(({ stdout, stderr }) => /tables were changed/.test(stdout + stderr));
    assert.equal(closed.length, 1);

    const refused = await startRefused(former);
    assert.match(refused.stderr, /The database was written by a newer Dundun \(9002-next-closing\)/);
    const verb = await runVerb(['nodes'], { settings: former.settings ?? {} });
    assert.match(verb.stderr, /written by a newer Dundun/);
    await untilAllWork(fleet);
    await load.finish();
    await load.verify();
    assert.ok(heardEarly > 20 && heardLate > 20 && ledger.count('stored') > 100, load.counts);
    t.diagnostic(`${load.counts}; ${heardEarly} and ${heardLate} heard; 0 lost, 0 doubled`);
  });
});
