// Opens the engine on PostgreSQL: the ground, the log and its series, and puts them together.
import { randomIds } from '../../base/ids.ts';
import { limits } from '../../config/limits.ts';
import type { Announcer } from '../../domain/ports/coordination.ts';
import type { Registry } from '../shared/registry/registry.ts';
import { Announcements } from './coordination/announcements.ts';
import { declareDead } from './coordination/death.ts';
import { readRefusalOf } from './database/database-error.ts';
import { type HeldTables, holdTables } from './database/held-tables.ts';
import { migrate } from './database/migrate.ts';
import { PostgresDatabase } from './database/postgres-database.ts';
import { type OpenOptions, openGround } from './ground.ts';
import { openLog } from './log-parts.ts';
import { assertNoMove } from './move/move-notes.ts';
import { PostgresEngine } from './postgres-engine.ts';
import { postgresRegistry } from './registry/postgres-registry.ts';
import { RegistryWriter } from './registry/registry-writer.ts';
import { Searches } from './registry/searches.ts';
import { type OpenedStandby, openStandby } from './standby.ts';

/**
 * @throws Refusal `conflict` where another server uses the database, a newer release wrote it, or the standby is one of another; `storage`.
 */
export async function openPostgresEngine(url: string, options: OpenOptions): Promise<PostgresEngine> {
  const ground = await openGround(url, options);
  let standby: OpenedStandby | undefined;
  try {
    const { database, coordination } = ground;
    const { standbyUrl, log } = options;
    if (standbyUrl !== undefined) standby = await openStandby({ url: standbyUrl, database, log });
    const isNewest = coordination.isNewest.bind(coordination);
    const parts = await openLog({
      url,
      database,
      membership: ground.membership,
      standing: ground.standing,
      isNewest,
      standby,
    });
    return new PostgresEngine({ ...options, ground, parts });
  } catch (error) {
    await standby?.close();
    await ground.close();
    throw readRefusalOf(error);
  }
}

/**
 * Opens the registry alone for a command-line verb, whether a server is running or not. @throws Refusal `conflict` where a
 * newer release wrote it, `storage`.
 */
export async function openPostgresRegistryAlone(
  url: string,
): Promise<{ readonly registry: Registry; readonly announcer: Announcer; close(): Promise<void> }> {
  const database = new PostgresDatabase(url);
  let tables: HeldTables;
  try {
    await migrate(url);
    await assertNoMove(database);
    tables = await holdTables(database);
  } catch (error) {
    await database.close();
    throw readRefusalOf(error);
  }
  const name = `command ${randomIds.uuid()}`;
  const writer = new RegistryWriter({ database, writer: name });
  const startMs = performance.now();
  const bury = () => declareDead(database, { isNew: performance.now() - startMs < limits.nodeDeadMs });
  const announcer = new Announcements({ database, writer, node: name, written: tables.formats, bury });
  const searches = new Searches(database);
  const close = async () => {
    searches.close();
    await announcer.close();
    await writer.close();
    await tables.close();
    await database.close();
  };
  return { registry: postgresRegistry({ database, writer, searches }), announcer, close };
}
