// A PgBouncer of the tests before a server of PostgreSQL, on a socket in a temporary folder. DUNDUN_TEST_PGBOUNCER names the program;
// without it such tests are left out.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { giveToPostgres, postgresOwner, withoutPostgres } from './postgres.ts';
import { until } from './until.ts';

const program = process.env['DUNDUN_TEST_PGBOUNCER'];

/** Why tests with PgBouncer are skipped; false where they run. For the option `skip` of a test. */
export const withoutPgBouncer: string | false =
  program === undefined ? 'PgBouncer is not here (DUNDUN_TEST_PGBOUNCER)' : withoutPostgres;

/** What a connection to the database stands for. */
export type PoolMode = 'session' | 'transaction' | 'statement';

export class PgBouncer {
  readonly #folder: string;
  readonly #database: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, database: string) {
    this.#folder = folder;
    this.#database = database;
  }

  /** @param url of a database on a socket of this machine. */
  static async start(url: string, { mode }: { readonly mode: PoolMode }): Promise<PgBouncer> {
    const { searchParams, pathname } = new URL(url);
    const folder = mkdtempSync(join(tmpdir(), 'dundun-pgbouncer-'));
    const bouncer = new PgBouncer(folder, pathname.slice(1));
    pools.add(bouncer);
    const settings = {
      listen_port: 5432,
      unix_socket_dir: folder,
      auth_type: 'any',
      pool_mode: mode,
      default_pool_size: 100,
      max_client_conn: 200,
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
    const databases = `[databases]\n* = host=${searchParams.get('host')} port=5432 user=dundun\n`;
    writeFileSync(bouncer.#settings, `${databases}[pgbouncer]\n${lines.join('\n')}\n`, { mode: 0o644 });
    giveToPostgres(folder);
    await bouncer.run();
    return bouncer;
  }

  get #settings(): string {
    return join(this.#folder, 'pgbouncer.ini');
  }

  /** The address of the database behind it. */
  get url(): string {
    return `postgres://dundun@localhost/${this.#database}?host=${encodeURIComponent(this.#folder)}`;
  }

  /** Starts it, and waits until it takes connections. */
  async run(): Promise<void> {
    assert.ok(program !== undefined, 'DUNDUN_TEST_PGBOUNCER names the program');
    const child = spawn(program, [this.#settings], { ...postgresOwner(), cwd: this.#folder, stdio: 'ignore' });
    // A test process that is done must not wait for it; it ends with the process.
    child.unref();
    this.#child = child;
    await until(async () => {
      assert.equal(child.exitCode, null, 'PgBouncer runs');
      const client = new pg.Client(this.url);
      client.on('error', () => {});
      const isThere = await client.connect().then(
        () => true,
        () => false,
      );
      await client.end().catch(() => {});
      return isThere;
    });
  }

  /** Ends it at once: all connections break. */
  async stopImmediately(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** Ends it and removes its folder. */
  remove(): void {
    pools.delete(this);
    this.#child?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

const pools = new Set<PgBouncer>();

process.on('exit', () => {
  for (const pool of pools) pool.remove();
});
