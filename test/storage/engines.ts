// The list of engines, for the suites that all of them must pass.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import type { Lease, LeaseName } from '../../src/domain/ports/coordination.ts';
import type { Engine } from '../../src/domain/ports/engine.ts';
import type { DataLocation, Maintenance } from '../../src/domain/ports/maintenance.ts';
import type { RegistryStores } from '../../src/domain/ports/registry-stores.ts';
import type { EmbeddedEngine } from '../../src/engines/embedded/embedded-engine.ts';
import { openEmbeddedEngine } from '../../src/engines/embedded/open.ts';
import { maintenance } from '../../src/engines/open.ts';
import { PostgresDatabase } from '../../src/engines/postgres/database/postgres-database.ts';
import { openPostgresEngine } from '../../src/engines/postgres/open.ts';
import { layEmptyDatabase, tamper } from '../support/database.ts';
import { createDatabase, dropDatabase, goByShard, withoutPostgres } from '../support/postgres.ts';

type Ports = 'stores' | 'commitLog' | 'series' | 'coordination' | 'nodes' | 'openMqttSessions' | 'usage';

/** An engine on data of its own. */
export interface OpenedEngine extends Pick<Engine, Ports> {
  readonly data: DataLocation;
  /** Seals all of the log. */
  seal(): Promise<void>;
  /** Makes the sealed datapoints of one sensor unreadable, behind the engine's back. */
  damage(sensor: number): Promise<void>;
  /** Closes the engine and opens it again on the same data. */
  reopen(): Promise<void>;
  /** Closes the engine and leaves its data. */
  stop(): Promise<void>;
  /** Closes the engine and removes its data. */
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly clock?: Clock;
  /** Data that is there already; new data where it is left out. */
  readonly data?: DataLocation;
}

export interface EngineKind {
  readonly name: string;
  /** Undefined where programs of the database do it. */
  readonly maintenance?: Maintenance;
  open(options?: EngineOptions): Promise<OpenedEngine>;
}

/** That on PostgreSQL only where there is one; `npm test` says so. */
export const engines: readonly EngineKind[] = [
  sqliteEngine('SQLite', ({ stores }) => stores),
  ...(withoutPostgres === false ? [{ name: 'PostgreSQL', open: openPostgres }] : []),
];

/** With the one on PostgreSQL again whose statements touch one shard each, for suites of what is distributed. */
export const enginesByShard: readonly EngineKind[] = [
  ...engines,
  ...(withoutPostgres === false ? [{ name: 'PostgreSQL by shard', open: openByShard }] : []),
];

async function openByShard({ data, ...options }: EngineOptions = {}): Promise<OpenedEngine> {
  const url = data ?? (await createDatabase());
  await goByShard(url);
  return openPostgres({ ...options, data: url });
}

/** @param storesOf the stores that the suites use. */
export function sqliteEngine(
  name: string,
  storesOf: (engine: EmbeddedEngine, clock: Clock) => RegistryStores,
): EngineKind {
  return { name, maintenance, open: (options) => openEmbedded(storesOf, options) };
}

async function openPostgres({ clock = systemClock, ...given }: EngineOptions = {}): Promise<OpenedEngine> {
  const url = given.data ?? (await createDatabase());
  let engine = await openPostgresEngine(url, { clock });
  let isOpen = true;
  const stop = async () => {
    if (isOpen) await engine.close();
    isOpen = false;
  };
  return {
    data: url,
    get stores() {
      return engine.stores;
    },
    get commitLog() {
      return engine.commitLog;
    },
    get series() {
      return engine.series;
    },
    get coordination() {
      return engine.coordination;
    },
    get nodes() {
      return engine.nodes;
    },
    openMqttSessions: (rules) => engine.openMqttSessions(rules),
    usage: () => engine.usage(),
    seal: () => engine.seal(),
    damage: async (sensor) => {
      const database = new PostgresDatabase(url);
      await database.query("UPDATE chunk SET bytes = decode(repeat('00', 64), 'hex') WHERE sensor = $1", [sensor]);
      await database.close();
    },
    reopen: async () => {
      await stop();
      engine = await openPostgresEngine(url, { clock });
      isOpen = true;
    },
    stop,
    close: async () => {
      await stop();
      await dropDatabase(url);
    },
  };
}

async function openEmbedded(
  storesOf: (engine: EmbeddedEngine, clock: Clock) => RegistryStores,
  { clock = systemClock, ...given }: EngineOptions = {},
): Promise<OpenedEngine> {
  const folder = given.data ?? (await newFolder());
  let embedded = await openEmbeddedEngine(folder, { clock });
  let stores = storesOf(embedded, clock);
  let isOpen = true;
  const stop = async () => {
    if (isOpen) await embedded.close();
    isOpen = false;
  };
  return {
    data: folder,
    get stores() {
      return stores;
    },
    get commitLog() {
      return embedded.commitLog;
    },
    get series() {
      return embedded.series;
    },
    get coordination() {
      return embedded.coordination;
    },
    get nodes() {
      return embedded.nodes;
    },
    openMqttSessions: (rules) => embedded.openMqttSessions(rules),
    usage: () => embedded.usage(),
    seal: () => embedded.seal(),
    damage: async (sensor) => tamper(folder, `UPDATE chunk SET bytes = zeroblob(64) WHERE sensor = ${sensor}`),
    reopen: async () => {
      await stop();
      embedded = await openEmbeddedEngine(folder, { clock });
      stores = storesOf(embedded, clock);
      isOpen = true;
    },
    stop,
    close: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dundun-store-'));
  await layEmptyDatabase(folder);
  return folder;
}

/** The lease, which nobody must hold. */
export async function acquired({ coordination }: Pick<OpenedEngine, 'coordination'>, name: LeaseName): Promise<Lease> {
  const lease = await coordination.acquire(name);
  assert.ok(lease !== undefined, `nobody holds the lease ${name}`);
  return lease;
}
