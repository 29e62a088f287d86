// Opens the embedded store in a data folder: takes the folder's lock, migrates, starts the writer thread and gives
// out the parts that the service is wired from. Nothing outside this folder knows which engine it is.
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { Refusal } from '../../base/refusal.ts';
import type { Registry } from '../sql/registry.ts';
import type { Tables } from '../sql/tables.ts';
import { databaseFile, openConnection } from './connection.ts';
import { makeFolder } from './data-folder.ts';
import { SqliteDatapointStore } from './datapoint-store.ts';
import { NodeSqliteDialect } from './dialect.ts';
import { lockFolder, unusable } from './folder-lock.ts';
import { sharedFollowedSeq } from './follower.ts';
import { migrate } from './migrate.ts';
import { moveEarlierDatapoints } from './upgrade.ts';
import { SqliteWriter } from './writer.ts';
import type { SqlValue } from './writer-protocol.ts';

export interface EmbeddedStore {
  readonly registry: Registry;
  readonly datapoints: SqliteDatapointStore;
  readonly writer: SqliteWriter;
  /** The main thread's read connection. */
  readonly reader: DatabaseSync;
  close(): Promise<void>;
}

/** @throws Refusal `conflict` when another server uses the folder. */
export async function openEmbeddedStore(folder: string): Promise<EmbeddedStore> {
  makeFolder(folder);
  const unlock = lockFolder(folder);
  try {
    const path = join(folder, databaseFile);
    await migrateFolder(folder);
    moveEarlierDatapoints(path);
    const reader = openConnection(path, { readOnly: true });
    // Before the writer starts, because it may begin with sealing, and must keep what has not been followed.
    const followed = sharedFollowedSeq(reader);
    const writer = new SqliteWriter({ path, followed });
    const datapoints = new SqliteDatapointStore({ writer, reader, followed, path });
    await datapoints.start();
    const read = new Kysely<Tables>({ dialect: new NodeSqliteDialect(reader) });
    const registry: Registry = {
      read,
      write: (queries, options) =>
        writer.write(
          queries.map((query) => toStatement(query.compile())),
          options,
        ),
    };
    const close = async () => {
      await writer.close();
      await datapoints.close();
      await read.destroy();
      reader.close();
      unlock();
    };
    return { registry, datapoints, writer, reader, close };
  } catch (error) {
    unlock();
    throw error;
  }
}

/**
 * Opens the registry alone for a command-line verb, beside a running server or without one: it writes by itself,
 * in short transactions, and needs no lock.
 */
export async function openRegistryAlone(folder: string): Promise<{ registry: Registry; close(): void }> {
  makeFolder(folder);
  await migrateFolder(folder);
  const database = openConnection(join(folder, databaseFile), { readOnly: false });
  const read = new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) });
  const registry: Registry = {
    read,
    write: async (queries) => {
      database.exec('BEGIN IMMEDIATE');
      try {
        const changes = queries.map((query) => {
          const { sql, parameters } = toStatement(query.compile());
          return Number(database.prepare(sql).run(...parameters).changes);
        });
        database.exec('COMMIT');
        return changes;
      } catch (error) {
        database.exec('ROLLBACK');
        if (String((error as Error).message).startsWith('UNIQUE'))
          throw new Refusal('exists', 'This id is taken.', { cause: error });
        throw error;
      }
    },
  };
  return { registry, close: () => database.close() };
}

function toStatement(query: { readonly sql: string; readonly parameters: readonly unknown[] }) {
  return { sql: query.sql, parameters: query.parameters as readonly SqlValue[] };
}

async function migrateFolder(folder: string): Promise<void> {
  let database: DatabaseSync | undefined;
  try {
    database = openConnection(join(folder, databaseFile), { readOnly: false });
    await migrate(database);
  } catch (error) {
    throw unusable(folder, error);
  } finally {
    database?.close();
  }
}
