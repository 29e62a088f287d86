// A PostgreSQL server of the tests: one a test process, started by the first test that needs it, in a temporary folder and
// on a socket there; and a fresh database for each test, copied from one whose tables are made. DUNDUN_TEST_POSTGRES names the program
// `postgres`; without it such tests are left out.
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { connectionSettings } from '../../src/engines/postgres/database/connection-settings.ts';
import { migrate } from '../../src/engines/postgres/database/migrate.ts';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { goByShard as haveGoByShard } from '../../src/engines/postgres/distribute.ts';
import { until } from './until.ts';

const named = process.env['DUNDUN_TEST_POSTGRES'];
// The other programs lie beside the real one.
const program = named === undefined ? undefined : realpathSync(named);

/** The folder of a server with a database of this release's tables, of which each server of a whole run is a copy (`PostgresServer.prepare`). */
const prepared = process.env['DUNDUN_TEST_POSTGRES_FOLDER'];
const databaseOfTables = 'tables';

/** Why tests with PostgreSQL are skipped; false where they run. For the option `skip` of a test. */
export const withoutPostgres: string | false =
  program === undefined ? 'PostgreSQL is not here (DUNDUN_TEST_POSTGRES)' : false;

export interface PostgresOptions {
  /** Whether commits wait for the disk: only where a crash is tested. */
  readonly isDurable?: boolean;
  /** Settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether it is no copy: a cluster by an identifier that no other server of the tests has. */
  readonly isOfItsOwn?: boolean;
}

export class PostgresServer {
  readonly folder: string;
  readonly #options: PostgresOptions;
  readonly #owner = postgresOwner();
  #child: ChildProcess | undefined;
  #databases = 0;
  #template: Promise<string> | undefined;

  private constructor(folder: string, options: PostgresOptions) {
    this.folder = folder;
    this.#options = options;
  }

  static async start(options: PostgresOptions = {}): Promise<PostgresServer> {
    const isNew = prepared === undefined || options.isOfItsOwn === true;
    return isNew ? PostgresServer.#startNew(options) : PostgresServer.#startCopy(options, prepared);
  }

  static async #startNew(options: PostgresOptions): Promise<PostgresServer> {
    const server = PostgresServer.#inNewFolder(options);
    const args = ['--pgdata', server.#data, '--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C'];
    const settings = { ...server.#owner, cwd: server.folder, stdio: 'pipe' } as const;
    execFileSync(besidePostgres('initdb'), [...args, '--no-sync', '--no-instructions'], settings);
    await server.run();
    // As an operator makes it: no superuser.
    await server.#asSuperuser('CREATE ROLE dundun LOGIN CREATEDB');
    return server;
  }

  static async #startCopy(options: PostgresOptions, folder: string): Promise<PostgresServer> {
    const server = PostgresServer.#inNewFolder(options);
    execFileSync('cp', ['-a', join(folder, 'data'), server.folder], {
      ...server.#owner,
      cwd: server.folder,
      stdio: 'pipe',
    });
    server.#template = Promise.resolve(databaseOfTables);
    await server.run();
    return server;
  }

  /** Makes a server with a database of this release's tables, and stops it. @returns its folder, which stays. */
  static async prepare(): Promise<string> {
    const server = await PostgresServer.#startNew({});
    await server.#makeTemplate();
    await server.#runBeside('pg_ctl', ['stop', '--pgdata', server.#data, '--mode=fast', '--silent']);
    servers.delete(server);
    return server.folder;
  }

  /** A standby of another server, from which it streams; it answers reads. Nobody waits for it yet (`waitForStandby`). */
  static async startStandby(primary: PostgresServer): Promise<PostgresServer> {
    const server = PostgresServer.#inNewFolder(primary.#options);
    const args = ['--pgdata', server.#data, '--host', primary.folder, '--username=postgres', '--checkpoint=fast'];
    if (existsSync(besidePostgres('pg_basebackup')))
      await server.#runBeside('pg_basebackup', [...args, '--wal-method=stream', '--write-recovery-conf', '--no-sync']);
    else await server.#copyFrom(primary);
    await server.run();
    return server;
  }

  static #inNewFolder(options: PostgresOptions): PostgresServer {
    const folder = mkdtempSync(join(tmpdir(), 'dundun-pg-'));
    const server = new PostgresServer(folder, options);
    servers.add(server);
    giveToPostgres(folder);
    return server;
  }

  get #data(): string {
    return join(this.folder, 'data');
  }

  /** Address of a database, for DUNDUN_DATABASE_URL. */
  url(database: string, user = 'dundun'): string {
    return `postgres://${user}@localhost/${database}?host=${encodeURIComponent(this.folder)}`;
  }

  /** A new database with the tables of this release, and no rows. */
  async createDatabase(): Promise<string> {
    this.#template ??= this.#makeTemplate();
    return this.#create(await this.#template);
  }

  /** A new database like another one, to which nobody is connected. */
  createDatabaseFrom(template: string): Promise<string> {
    return this.#create(template);
  }

  /** Runs a statement in a database. */
  query(url: string, sql: string): Promise<Record<string, unknown>[]> {
    return ask(url, sql);
  }

  /** The database as it is at this moment, under another name; who is connected to it is cut off for good. */
  async crash(url: string): Promise<string> {
    const name = new URL(url).pathname.slice(1);
    await this.#asSuperuser(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`);
    await this.#asSuperuser(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`);
    return this.#create(name);
  }

  /** A new database without tables. */
  createEmptyDatabase(): Promise<string> {
    return this.#create('template0');
  }

  async dropDatabase(url: string): Promise<void> {
    await this.#asSuperuser(`DROP DATABASE "${new URL(url).pathname.slice(1)}" WITH (FORCE)`);
  }

  /** Starts the server, and waits until it takes connections. */
  async run(): Promise<void> {
    const { isDurable = false, settings = {} } = this.#options;
    const fast = isDurable ? {} : { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };
    const all = {
      listen_addresses: '',
      unix_socket_directories: this.folder,
      max_connections: '300',
      shared_buffers: '32MB',
      log_min_messages: 'fatal',
      ...fast,
      ...settings,
    };
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const child = spawn(besidePostgres('postgres'), ['-D', this.#data, ...flags], {
      ...this.#owner,
      cwd: this.folder,
      stdio: 'ignore',
    });
    // A test process that is done must not wait for it; it ends with the process.
    child.unref();
    this.#child = child;
    await until(async () => {
      assert.equal(child.exitCode, null, 'the server runs');
      return this.#asSuperuser('SELECT 1').then(
        () => true,
        () => false,
      );
    });
  }

  /** Ends the server as a crash of it would: connections break at once, and the next start recovers. */
  async stopImmediately(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGQUIT');
    await ended;
  }

  /** Makes a primary of a standby; resolves when it takes writes. */
  async promote(): Promise<void> {
    await this.#runBeside('pg_ctl', ['promote', '--pgdata', this.#data, '--silent']);
  }

  /** Has a standby take in what its primary sends, and show nothing of it. */
  async pauseReplay(): Promise<void> {
    await this.#asSuperuser('SELECT pg_wal_replay_pause()');
    const [{ paused } = {}] = await ask(this.url('postgres', 'postgres'), 'SELECT pg_is_wal_replay_paused() AS paused');
    assert.equal(paused, 1);
  }

  async resumeReplay(): Promise<void> {
    await this.#asSuperuser('SELECT pg_wal_replay_resume()');
  }

  /** Resolves when this standby shows all that its primary has now. */
  async untilReplayed(primary: PostgresServer): Promise<void> {
    const [{ end } = {}] = await ask(primary.url('postgres', 'postgres'), 'SELECT pg_current_wal_lsn() AS end');
    const sql = `SELECT pg_last_wal_replay_lsn() >= '${end}' AS replayed`;
    await until(async () => (await ask(this.url('postgres', 'postgres'), sql))[0]?.['replayed'] === 1);
  }

  /** Whether commits wait for a standby from now on. */
  async waitForStandby(isWanted: boolean): Promise<void> {
    await this.#asSuperuser(`ALTER SYSTEM SET synchronous_standby_names = '${isWanted ? '*' : ''}'`);
    await this.#asSuperuser('SELECT pg_reload_conf()');
  }

  /** Resolves when a standby has all there is, and each later commit waits for it. */
  async untilSynchronous(): Promise<void> {
    const url = this.url('postgres', 'postgres');
    const sql = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'";
    await until(async () => (await ask(url, sql)).length > 0, { everyMs: 50 });
    // Waits for the standby, behind all that was written before.
    await ask(url, "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'tests', '')");
  }

  async #runBeside(name: string, args: readonly string[]): Promise<void> {
    await promisify(execFile)(besidePostgres(name), args, { ...this.#owner, cwd: this.folder });
  }

  /** What pg_basebackup does, where it is not among the programs: copies the files of a running server, with what its standby begins by. */
  async #copyFrom(primary: PostgresServer): Promise<void> {
    const client = new pg.Client(connectionSettings(primary.url('postgres', 'postgres'), 'tests'));
    await client.connect();
    try {
      const { rows } = await client.query("SELECT current_setting('server_version_num') AS version");
      const [begin, end] =
        Number(rows[0].version) < 150_000
          ? ["pg_start_backup('tests', true, false)", 'pg_stop_backup(false, false)']
          : ["pg_backup_start('tests', true)", 'pg_backup_stop(false)'];
      await client.query(`SELECT ${begin}`);
      const asOwner = { ...this.#owner, cwd: this.folder };
      await promisify(execFile)('cp', ['-a', join(primary.folder, 'data'), this.folder], asOwner);
      const [{ labelfile: label }] = (await client.query(`SELECT labelfile FROM ${end}`)).rows;
      rmSync(join(this.#data, 'postmaster.pid'));
      this.#write('backup_label', label);
      this.#write('standby.signal', '');
      // The last of several lines holds: that of the server, where it was a standby, is copied with it.
      appendFileSync(
        join(this.#data, 'postgresql.auto.conf'),
        `primary_conninfo = 'host=${primary.folder} user=postgres'\n`,
      );
    } finally {
      await client.end();
    }
  }

  #write(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text, { mode: 0o600 });
    if (this.#owner !== undefined) chownSync(path, this.#owner.uid, this.#owner.gid);
  }

  /** Ends the server and removes its folder. */
  remove(): void {
    servers.delete(this);
    try {
      const args = ['stop', '--pgdata', this.#data, '--mode=immediate', '--silent'];
      execFileSync(besidePostgres('pg_ctl'), args, { ...this.#owner, cwd: this.folder, stdio: 'pipe' });
    } catch {
      // It did not run.
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  async #makeTemplate(): Promise<string> {
    await migrate(await this.#create('template0', databaseOfTables));
    return databaseOfTables;
  }

  async #create(template: string, name = `test_${++this.#databases}`): Promise<string> {
    await this.#asSuperuser(`CREATE DATABASE "${name}" TEMPLATE "${template}" OWNER dundun`);
    return this.url(name);
  }

  async #asSuperuser(sql: string): Promise<void> {
    await ask(this.url('postgres', 'postgres'), sql);
  }
}

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connectionSettings(url, 'tests'));
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const servers = new Set<PostgresServer>();
let shared: Promise<PostgresServer> | undefined;

process.on('exit', () => {
  for (const server of servers) server.remove();
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));

/** A new database with the tables of this release, on the server that all tests of this process share. */
export async function createDatabase(): Promise<string> {
  return (await sharedServer()).createDatabase();
}

/** Has servers go by shard, as before its tables are distributed: those that start, and within seconds those that run. */
export async function goByShard(url: string): Promise<void> {
  const database = new PostgresDatabase(url);
  try {
    await haveGoByShard(database);
  } finally {
    await database.close();
  }
}

export async function dropDatabase(url: string): Promise<void> {
  await (await sharedServer()).dropDatabase(url);
}

export function sharedServer(): Promise<PostgresServer> {
  shared ??= PostgresServer.start();
  return shared;
}

/** The path of a program of PostgreSQL. */
function besidePostgres(name: string): string {
  assert.ok(program !== undefined, 'DUNDUN_TEST_POSTGRES names the program');
  return join(dirname(program), name);
}

/** Makes the folder one of the user as whom PostgreSQL runs, and nobody else's. */
export function giveToPostgres(folder: string): void {
  const owner = postgresOwner();
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(folder, 0o700);
}

/** PostgreSQL refuses to run as root: then it runs as its own user, or as nobody. */
export function postgresOwner(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const idOf = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
      return { uid: idOf('-u'), gid: idOf('-g') };
    } catch {}
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody');
}
