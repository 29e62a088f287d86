// A data folder whose service is stopped and started, for tests of stored MQTT state.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { Refusal } from '../../../base/refusal.ts';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import type { EmbeddedEngine } from '../embedded-engine.ts';
import { openEmbeddedEngine } from '../open.ts';
import { type MqttPersistenceOptions, SqliteMqttPersistence } from './mqtt-persistence.ts';

export interface Run {
  readonly store: EmbeddedEngine;
  readonly persistence: SqliteMqttPersistence;
}

type Rules = Partial<Pick<MqttPersistenceOptions, 'matchesForm' | 'mayReceive'>>;

/** A data folder whose service can be stopped and started. */
export class Folder {
  readonly #path: string;
  #store: EmbeddedEngine | undefined;
  #runs = 0;
  readonly #stops: (() => Promise<void>)[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  static async make(): Promise<Folder> {
    return new Folder(await mkdtemp(join(tmpdir(), 'dundun-')));
  }

  /** Ends the present run without telling its persistence, and starts the next. */
  async start(rules: Rules = {}): Promise<Run> {
    const persistence = await this.open(rules);
    this.#runs += 1;
    await persistence.setup({ id: `run-${this.#runs}`, counter: 0 });
    return { store: this.#store as EmbeddedEngine, persistence };
  }

  /** The same, for a broker that sets up the persistence itself. */
  async open(rules: Rules = {}): Promise<SqliteMqttPersistence> {
    await this.#stop();
    this.#store = await openEmbeddedEngine(this.#path);
    const { writer, reader } = this.#store;
    return new SqliteMqttPersistence({ writer, reader, matchesForm: () => true, ...rules });
  }

  /** Registers a step for the end of the present run, before its store is closed. */
  beforeStop(stop: () => Promise<void>): void {
    this.#stops.push(stop);
  }

  async remove(): Promise<void> {
    await this.#stop();
    await rm(this.#path, { recursive: true });
  }

  async #stop(): Promise<void> {
    for (const stop of this.#stops.splice(0)) await stop();
    await this.#store?.close();
  }
}

export async function makeFolder(t: TestContext): Promise<Folder> {
  const folder = await Folder.make();
  t.after(() => folder.remove());
  return folder;
}

export const client = { id: 'c1' };
export const other = { id: 'c2' };

export function message(number: number, more: StoredPacket = {}): StoredPacket {
  return { topic: 't', payload: Buffer.from(`m${number}`), qos: 1, brokerCounter: number, ...more };
}

export async function read(stream: Readable): Promise<StoredPacket[]> {
  return (await stream.toArray()) as StoredPacket[];
}

export async function payloads(stream: Readable): Promise<string[]> {
  return (await read(stream)).map(({ payload }) => String(payload));
}

export function rowsOf({ store }: Run, table: string): number {
  return (store.reader.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
}

export function isRefusal(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === code;
}

/** Inserts rows by an SQL statement that can select from `numbers`, 1 to `count`. */
export async function fill({ store }: Run, count: number, sql: string): Promise<void> {
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
  await store.writer.write([{ sql: sql.replace(' SELECT', ` ${numbers} SELECT`), parameters: [] }]);
}
