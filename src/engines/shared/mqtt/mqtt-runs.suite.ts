// A database whose service is stopped and started, for tests of stored MQTT state. Each engine says how (MqttEngine) and
// passes the suites beside.
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { Refusal } from '../../../base/refusal.ts';
import type { StoredPacket } from '../../../domain/ports/mqtt-sessions.ts';
import { MqttPersistence } from './mqtt-persistence.ts';
import type { MqttStoresOptions } from './mqtt-stores.ts';
import type { MqttTables } from './mqtt-tables.ts';

export interface MqttEngine {
  readonly name: string;
  /** New data. */
  make(): Promise<MqttData>;
}

export interface MqttData {
  /** Opens the database; it was closed. */
  open(): Promise<MqttTables>;
  close(): Promise<void>;
  /** Rows of a table. */
  count(table: string): Promise<number>;
  /** Inserts rows; the columns are SQL expressions of `n`, 1 to `count`. */
  fill(table: string, count: number, columns: Readonly<Record<string, string>>): Promise<void>;
  remove(): Promise<void>;
}

export interface Run extends Pick<MqttData, 'count' | 'fill'> {
  readonly persistence: MqttPersistence;
  readonly tables: MqttTables;
}

type Rules = Partial<Pick<MqttStoresOptions, 'matchesForm' | 'mayReceive'>>;

/** The runs of a service on the same data. */
export class MqttRuns {
  readonly #data: MqttData;
  #tables: MqttTables | undefined;
  #runs = 0;

  constructor(data: MqttData) {
    this.#data = data;
  }

  /** Ends the present run without telling its persistence, and starts the next. */
  async start(rules: Rules = {}): Promise<Run> {
    await this.#stop();
    this.#tables = await this.#data.open();
    const persistence = new MqttPersistence({ tables: this.#tables, matchesForm: () => true, ...rules });
    this.#runs += 1;
    await persistence.setup({ id: `run-${this.#runs}` });
    const data = this.#data;
    return {
      persistence,
      tables: this.#tables as MqttTables,
      count: (table) => data.count(table),
      fill: (table, count, columns) => data.fill(table, count, columns),
    };
  }

  async remove(): Promise<void> {
    await this.#stop();
    await this.#data.remove();
  }

  async #stop(): Promise<void> {
    if (this.#tables !== undefined) await this.#data.close();
    this.#tables = undefined;
  }
}

export async function makeRuns(t: TestContext, engine: MqttEngine): Promise<MqttRuns> {
  const runs = new MqttRuns(await engine.make());
  t.after(() => runs.remove());
  return runs;
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

export function isRefusal(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === code;
}
