// The one door to the engines: opens the one that the settings name. Nothing above imports another file of this folder.
import type { Log } from '../base/log.ts';
import { Refusal } from '../base/refusal.ts';
import { type Clock, systemClock } from '../base/time/clock.ts';
import type { Announcer } from '../domain/ports/coordination.ts';
import type { Engine } from '../domain/ports/engine.ts';
import type { DataLocation, Maintenance, OnProgress } from '../domain/ports/maintenance.ts';
import type { NodesReport } from '../domain/ports/nodes.ts';
import type { RegistryStores } from '../domain/ports/registry-stores.ts';
import { makeBackup } from './embedded/backup/make-backup.ts';
import { restoreBackup } from './embedded/backup/restore-backup.ts';
import { checkData } from './embedded/check/check-data.ts';
import { forgetDamaged } from './embedded/check/forget-damaged.ts';
import { openEmbeddedEngine, openRegistryAlone } from './embedded/open.ts';
import { isPostgres, postgresMaintenance } from './postgres/postgres-maintenance.ts';
import { sqlStores } from './shared/registry/registry-stores.ts';

/** Where the data is, as the settings say. */
export interface EngineSettings {
  readonly dataDir: string;
  /** A PostgreSQL database in place of the folder. */
  readonly databaseUrl?: string | undefined;
  /** A standby of the database, from which history is read. */
  readonly databaseStandbyUrl?: string | undefined;
}

/** Loaded where it is used: who has a folder has no memory for it to spare. */
const postgres = () => import('./postgres/open.ts');

/** @throws Refusal `conflict` when another server uses the data. */
export async function openEngine(
  { dataDir, databaseUrl, databaseStandbyUrl }: EngineSettings,
  parts: { readonly clock: Clock; readonly log: Log },
): Promise<Engine> {
  if (databaseUrl === undefined) return openEmbeddedEngine(dataDir, parts);
  const { openPostgresEngine } = await postgres();
  return openPostgresEngine(databaseUrl, { ...parts, standbyUrl: databaseStandbyUrl });
}

/**
 * Opens the stores of the registry alone for a command-line verb, beside a running server or without one. On PostgreSQL the server
 * is told of changes; on a folder it is not: it reads users and secrets anew every second.
 */
export async function openStores({ dataDir, databaseUrl }: EngineSettings): Promise<{
  readonly stores: RegistryStores;
  readonly coordination: Announcer;
  close(): Promise<void>;
}> {
  if (databaseUrl !== undefined) {
    const { registry, announcer, close } = await (await postgres()).openPostgresRegistryAlone(databaseUrl);
    return { stores: sqlStores(registry, systemClock), coordination: announcer, close };
  }
  const { registry, close } = await openRegistryAlone(dataDir);
  const coordination = { announce: async () => {} };
  return { stores: sqlStores(registry, systemClock), coordination, close: async () => close() };
}

/** @throws Refusal `conflict` where the data are in a folder: one server has it, and no row. */
export async function readNodes({ databaseUrl }: EngineSettings): Promise<NodesReport> {
  if (databaseUrl === undefined)
    throw new Refusal(
      'conflict',
      'The data are in a folder, which one server uses at a time. Servers on PostgreSQL are listed.',
    );
  return (await import('./postgres/coordination/nodes-report.ts')).readNodes(databaseUrl);
}

/** Where the engine of the settings has its data, for `maintenance`. */
export function dataLocationOf({ dataDir, databaseUrl }: EngineSettings): DataLocation {
  return databaseUrl ?? dataDir;
}

/** Moves the data of the folder to a database (moving.ts). */
export const moveData: typeof import('./moving.ts').moveData = async (options) =>
  (await import('./moving.ts')).moveData(options);

/** @throws Refusal `conflict` where the data are in a folder. */
function assertDatabase(databaseUrl: string | undefined): string {
  if (databaseUrl !== undefined) return databaseUrl;
  throw new Refusal(
    'conflict',
    'The data are in a folder. Tables of a PostgreSQL database (DUNDUN_DATABASE_URL) are distributed.',
  );
}

/** Distributes the tables of a database by Citus (postgres/distribute.ts). */
export const distribution = {
  plan: async ({ databaseUrl, shards }: { readonly databaseUrl: string | undefined; readonly shards: number }) => {
    const url = assertDatabase(databaseUrl);
    return (await import('./postgres/distribute.ts')).planDistribution({ url, shards });
  },
  distribute: async ({
    databaseUrl,
    ...options
  }: {
    readonly databaseUrl: string | undefined;
    readonly shards: number;
    readonly onStep: OnProgress;
  }) => {
    const url = assertDatabase(databaseUrl);
    return (await import('./postgres/distribute.ts')).distribute({ ...options, url });
  },
};

const ofFolders: Maintenance = {
  backUp: makeBackup,
  restore: restoreBackup,
  check: checkData,
  forgetDamaged,
};

const of = (data: DataLocation) => (isPostgres(data) ? postgresMaintenance : ofFolders);

/** Backup, restore and check of a data folder; on PostgreSQL these are refused, with what to use in their place. */
export const maintenance: Maintenance = {
  backUp: (options) => of(options.data).backUp(options),
  restore: (options) => of(options.data).restore(options),
  check: (data, onStep) => of(data).check(data, onStep),
  forgetDamaged: (data) => of(data).forgetDamaged(data),
};
