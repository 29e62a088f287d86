// The data of a whole server in tests: a new folder, or with DUNDUN_TEST_ENGINE=postgres a database that goes by the name of
// the folder, so that what is given the folder (people.ts, rows.ts) works with both.
import pg from 'pg';
import { randomIds } from '../../src/base/ids.ts';
import type { Finding } from '../../src/domain/ports/maintenance.ts';
import { openRegistryAlone } from '../../src/engines/embedded/open.ts';
import { maintenance } from '../../src/engines/open.ts';
import { openPostgresRegistryAlone } from '../../src/engines/postgres/open.ts';
import type { Registry } from '../../src/engines/shared/registry/registry.ts';
import { layDatabase, layEmptyDatabase, makeDatabase, openDatabase } from './database.ts';
import { countDatapoints } from './rows.ts';

const isOnPostgres = process.env['DUNDUN_TEST_ENGINE'] === 'postgres';

/** Addresses of databases by the folder that they stand for. */
const databases = new Map<string, string>();

/** The database that stands for the folder; undefined where the folder has the data itself. */
export function databaseOf(folder: string): string | undefined {
  return databases.get(folder);
}

/** Cuts the server off from the database, and has a copy of it as it is now stand for the folder. */
export async function crashDatabaseOf(folder: string): Promise<void> {
  const url = databases.get(folder);
  if (url !== undefined) databases.set(folder, await (await sharedServer()).crash(url));
}

/** What a server has to be given beside its folder. */
export function dataSettings(folder: string): Readonly<Record<string, string>> {
  const url = databaseOf(folder);
  return url === undefined ? {} : { DUNDUN_DATABASE_URL: url };
}

/** The registry of the data, as a command-line verb opens it. */
export async function openRegistryOf(folder: string): Promise<{ readonly registry: Registry; close(): Promise<void> }> {
  const url = databaseOf(folder);
  if (url !== undefined) return openPostgresRegistryAlone(url);
  const { registry, close } = await openRegistryAlone(folder);
  return { registry, close: async () => close() };
}

/** Runs a statement behind the service's back, in SQL that SQLite and PostgreSQL understand. @returns the rows of a query. */
export async function runSql(folder: string, sql: string): Promise<Record<string, unknown>[]> {
  const url = databaseOf(folder);
  if (url !== undefined) return (await sharedServer()).query(url, sql);
  const database = openDatabase(folder);
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

/** Counts outlive a restart on PostgreSQL, and have its time: what the test's clock went ahead of it meanwhile has passed for them. */
export async function ageCounts(folder: string, ms: number): Promise<void> {
  if (databaseOf(folder) === undefined) return;
  await runSql(folder, `UPDATE shared_count SET since = since - (${ms}), last = last - (${ms})`);
}

/** Bytes, or a text, as SQL of what has the data. */
export function bytesSql(folder: string, bytes: string | Uint8Array): string {
  const hex = Buffer.from(bytes as Uint8Array).toString('hex');
  return databaseOf(folder) === undefined ? `X'${hex}'` : `decode('${hex}', 'hex')`;
}

/** What the engine's own check finds wrong with the data; on PostgreSQL its own programs check, so nothing. */
export async function findingsIn(folder: string): Promise<readonly Finding[]> {
  if (databaseOf(folder) !== undefined) return [];
  return (await maintenance.check(folder, () => {})).flatMap(({ findings }) => findings);
}

/** Datapoints that are kept, those of removed sensors included until they are purged. */
export async function countStored(folder: string): Promise<number> {
  if (databaseOf(folder) === undefined) return countDatapoints(folder);
  return Number((await runSql(folder, countSql))[0]?.['n']);
}

/** In chunks, and in rows of the log that are not sealed. */
const countSql = `SELECT (SELECT coalesce(sum(count), 0) FROM chunk) + (SELECT coalesce(sum(count), 0) FROM log
  WHERE number > (SELECT coalesce(max(up_to_row), 0) FROM seal_pass WHERE is_whole = 1)) AS n`;

/** Has the data stand still, as a disk that does not answer: nothing is committed until the function that it gives is called. */
export async function holdWrites(folder: string): Promise<() => Promise<void>> {
  const url = databaseOf(folder);
  if (url === undefined) {
    const database = openDatabase(folder);
    database.exec('BEGIN IMMEDIATE');
    return async () => {
      database.exec('ROLLBACK');
      database.close();
    };
  }
  const client = new pg.Client(url);
  await client.connect();
  await client.query('BEGIN; SELECT 1 FROM log_writer FOR UPDATE');
  return () => client.end();
}

const made = new Map<string, Promise<Buffer | string>>();

/** Lays data into a new folder that `make` has made once in this process; `what` names them. */
export async function layData(folder: string, what: string, make: (folder: string) => Promise<void>): Promise<void> {
  const known = made.get(what) ?? (isOnPostgres ? makeTemplate(make) : makeFile(make));
  made.set(what, known);
  const template = await known;
  if (typeof template !== 'string') await layDatabase(folder, template);
  else databases.set(folder, await (await sharedServer()).createDatabaseFrom(template));
}

/** Takes away what is not in the folder. */
export async function removeData(folder: string): Promise<void> {
  const url = databaseOf(folder);
  if (url === undefined) return;
  databases.delete(folder);
  await (await sharedServer()).dropDatabase(url);
}

/** Loaded where it is used: tests on a folder start no process. */
async function sharedServer() {
  return (await import('./postgres.ts')).sharedServer();
}

function makeFile(make: (folder: string) => Promise<void>): Promise<Buffer> {
  return makeDatabase(async (folder) => {
    await layEmptyDatabase(folder);
    await make(folder);
  });
}

async function makeTemplate(make: (folder: string) => Promise<void>): Promise<string> {
  const server = await sharedServer();
  const name = randomIds.uuid();
  const url = await server.createDatabase();
  databases.set(name, url);
  await make(name);
  databases.delete(name);
  return new URL(url).pathname.slice(1);
}
