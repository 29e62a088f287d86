// The tables of the log on PostgreSQL where the process that tends them stands still, and another seals in its place; and where an
// append comes to the server so late that its table is used again.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setLimits } from '../../../../test/support/limits.ts';
import { batchOf } from '../../../../test/support/points.ts';
import { createDatabase, dropDatabase, withoutPostgres } from '../../../../test/support/postgres.ts';
import { until } from '../../../../test/support/until.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { Caller } from '../../../domain/callers/caller.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { openPostgresEngine } from '../open.ts';
import type { PostgresEngine } from '../postgres-engine.ts';
import { LogRings } from './log-rings.ts';

/** Stands still once its first question outside of a transaction is answered: which tables there are. */
class StandingStill extends PostgresDatabase {
  readonly hasRead = Promise.withResolvers<void>();
  readonly mayGoOn = Promise.withResolvers<void>();

  override async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> {
    const rows = await super.query<Row>(sql, parameters);
    this.hasRead.resolve();
    await this.mayGoOn.promise;
    return rows;
  }
}

/** A network that keeps what comes over the connection of appends, and brings it late: its client has given that connection up by then. */
class LateNetwork {
  readonly #server: Server;
  /** What is kept, by the connection to the server of PostgreSQL. */
  readonly #kept = new Map<Socket, Buffer[]>();
  readonly #ofAppends = new Set<Socket>();
  readonly #open = new Set<Socket>();
  readonly url: string;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async open(url: string): Promise<LateNetwork> {
    const { pathname, searchParams } = new URL(url);
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const network = new LateNetwork(server, `postgres://dundun@127.0.0.1:${port}${pathname}`);
    server.on('connection', (near) => {
      network.#join(near, connect(join(searchParams.get('host') ?? '', '.s.PGSQL.5432')));
    });
    return network;
  }

  #join(near: Socket, far: Socket): void {
    for (const end of [near, far]) {
      this.#open.add(end);
      end.on('error', () => {});
    }
    far.on('data', (bytes) => near.write(bytes)).on('close', () => near.destroy());
    near.on('data', (bytes) => {
      if (bytes.includes('dundun log\0')) this.#ofAppends.add(far);
      const kept = this.#kept.get(far);
      if (kept === undefined) far.write(bytes);
      else kept.push(bytes);
    });
    near.on('close', () => {
      if (!this.#kept.has(far)) far.destroy();
    });
  }

  keep(): void {
    for (const far of this.#ofAppends) this.#kept.set(far, []);
  }

  /** Brings what was kept; resolves when the server has answered it. */
  async bring(): Promise<void> {
    for (const [far, kept] of this.#kept) {
      const answered = once(far, 'data');
      for (const bytes of kept) far.write(bytes);
      if (kept.length > 0) await answered;
    }
  }

  close(): void {
    for (const end of this.#open) end.destroy();
    this.#server.close();
  }
}

suite('an append that is late', { skip: withoutPostgres }, () => {
  setLimits({ logRingBytes: 1, postgresAnswerMs: 2_000 });

  test('is in the log once, though its table was emptied and is the present one again when it arrives', async (t) => {
    const url = await createDatabase();
    const network = await LateNetwork.open(url);
    const database = new PostgresDatabase(url);
    const engine = await openPostgresEngine(network.url, { clock: systemClock });
    t.after(async () => {
      network.close();
      await engine.close();
      await database.close();
      await dropDatabase(url);
    });
    const sensor = 1;
    const push = (value: number) => engine.commitLog.append(batchOf([{ sensor, timestamp: value, value }]));
    const ring = async () => (await database.query<{ ring: number }>('SELECT ring FROM log_end'))[0]?.ring;
    await push(0);
    const before = await ring();
    network.keep();
    // It is appended over another connection.
    await push(1);
    let value = 1;
    do {
      await push(++value);
      await until(async () => engine.seal().then(() => true, () => false)); // biome-ignore format: short
    } while ((await ring()) !== before);
    await network.bring();
    await push(++value);
    const asker = { caller: new Caller('reader') };
    const { columns } = await engine.series.range({ sensor, descending: false, limit: 100 }, asker);
    assert.deepEqual([...columns.values], [...Array(value + 1).keys()]);
  });
});

suite('the tables of the log', { skip: withoutPostgres }, () => {
  setLimits({ logRingBytes: 1 });
  let url: string;
  let database: PostgresDatabase;
  let standing: StandingStill;
  let engine: PostgresEngine;

  before(async () => {
    url = await createDatabase();
    database = new PostgresDatabase(url);
    standing = new StandingStill(url);
    engine = await openPostgresEngine(url, { clock: systemClock });
  });
  after(async () => {
    await engine?.close();
    await database?.close();
    await standing?.close();
    await dropDatabase(url);
  });

  test('are not emptied by a server that stood still, once another has put new rows there', async () => {
    const sensor = 1;
    const push = (value: number) => engine.commitLog.append(batchOf([{ sensor, timestamp: value, value }]));
    const end = async () => (await database.query<{ ring: number; number: number }>('SELECT * FROM log_end'))[0];
    await push(0);
    const stale = (await end())?.ring;
    await engine.seal();
    const [node] = await database.query<{ id: string }>('SELECT id FROM node');
    const rings = new LogRings({ database: standing, node: node?.id ?? '' });
    const failures: Error[] = [];
    rings.onFailure = (error) => failures.push(error);
    const tended = rings.tend(((await end())?.number ?? 0) + 1);
    await standing.hasRead.promise;
    // All tables in turn, up to that in which it has seen nothing but sealed rows.
    let value = 0;
    do {
      await push(++value);
      await engine.seal();
    } while ((await end())?.ring !== stale);
    await push(++value);
    standing.mayGoOn.resolve();
    await tended;
    assert.deepEqual(failures, []);
    await engine.close();
    engine = await openPostgresEngine(url, { clock: systemClock });
    const asker = { caller: new Caller('reader') };
    const { columns } = await engine.series.range({ sensor, descending: false, limit: 100 }, asker);
    assert.deepEqual([...columns.values], [...Array(value + 1).keys()]);
  });
});
