// The engine of one process and one data folder: SQLite, written by a thread of its own, and the head in memory. Made
// by open.ts; the rest of the service sees only the interface Engine.
import type { DatabaseSync } from 'node:sqlite';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../base/time/clock.ts';
import { trusted } from '../../base/time/clock-watch.ts';
import { limits } from '../../config/limits.ts';
import type { DataUsage } from '../../domain/datapoints/ingest/storage-quota.ts';
import type { Engine, EngineFigures, EngineObserver } from '../../domain/ports/engine.ts';
import type { MqttSessionRules } from '../../domain/ports/mqtt-sessions.ts';
import type { NodeRegister } from '../../domain/ports/nodes.ts';
import type { RegistryStores } from '../../domain/ports/registry-stores.ts';
import type { Head } from '../shared/head/head.ts';
import { MqttPersistence } from '../shared/mqtt/mqtt-persistence.ts';
import type { Registry } from '../shared/registry/registry.ts';
import type { LocalCoordination } from './coordination/local-coordination.ts';
import { measureUsage } from './database/data-usage.ts';
import { describeWalDamage, listWalDamages } from './database/wal/wal-damages.ts';
import type { SqliteCommitLog } from './log/commit-log.ts';
import { MqttQuotaReads } from './mqtt/mqtt-quota-reads.ts';
import { SqliteMqttTables } from './mqtt/mqtt-tables.ts';
import type { SqliteSeries } from './reads/series.ts';
import type { SqliteWriter } from './threads/writer.ts';

interface EmbeddedParts {
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly folder: string;
  /** Sentences on damage that was put right at this start. */
  readonly mended: readonly string[];
  readonly stores: RegistryStores;
  readonly registry: Registry;
  readonly commitLog: SqliteCommitLog;
  readonly series: SqliteSeries;
  readonly coordination: LocalCoordination;
  readonly nodes: NodeRegister;
  readonly head: Head;
  readonly writer: SqliteWriter;
  /** The main thread's read connection. */
  readonly reader: DatabaseSync;
  readonly close: () => Promise<void>;
}

export class EmbeddedEngine implements Engine {
  readonly stores: RegistryStores;
  readonly registry: Registry;
  readonly commitLog: SqliteCommitLog;
  readonly series: SqliteSeries;
  readonly writer: SqliteWriter;
  readonly reader: DatabaseSync;
  readonly coordination: LocalCoordination;
  readonly nodes: NodeRegister;
  readonly figures: EngineFigures;
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  readonly #folder: string;
  readonly #mended: readonly string[];
  #walDamages: number;
  readonly #head: Head;
  readonly #close: () => Promise<void>;

  constructor(parts: EmbeddedParts) {
    const { writer, head } = parts;
    this.#mended = parts.mended;
    this.#walDamages = listWalDamages(parts.folder).length;
    const walDamages = () => this.#walDamages;
    this.stores = parts.stores;
    this.registry = parts.registry;
    this.commitLog = parts.commitLog;
    this.series = parts.series;
    this.coordination = parts.coordination;
    this.nodes = parts.nodes;
    this.writer = writer;
    this.reader = parts.reader;
    this.figures = {
      get refusesBecause() {
        return writer.refusesBecause;
      },
      get refusedWrites() {
        return writer.refusedUnits;
      },
      get logDatapoints() {
        return head.rows;
      },
      get lossesByDamage() {
        return walDamages();
      },
      reads: parts.series.reads,
    };
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#folder = parts.folder;
    this.#head = head;
    this.#close = parts.close;
  }

  openMqttSessions({ guest, onRefused, onQuotaChange, ...rules }: MqttSessionRules): MqttPersistence {
    const quotaReads = new MqttQuotaReads(this.reader, this.#clock);
    onQuotaChange((user) => quotaReads.forget(user));
    return new MqttPersistence({
      ...rules,
      tables: new SqliteMqttTables({ writer: this.writer, reader: this.reader }),
      quotas: { guest, quotaOf: (user) => quotaReads.of(user), onRefused },
      clocks: rules.clocks ?? trusted(this.#clock),
      ...(this.#log && { log: this.#log }),
    });
  }

  async usage(): Promise<DataUsage> {
    const { rows, textChars } = this.#head;
    const unsealedBytes = rows * limits.sealedRowBytes + textChars * limits.sealedCharBytes;
    const { isReserveInUse } = this.writer;
    // `dundun check --forget-damaged` may have run beside the service.
    this.#walDamages = listWalDamages(this.#folder).length;
    return { ...(await measureUsage(this.#folder, this.reader)), unsealedBytes, isReserveInUse };
  }

  seal(): Promise<void> {
    return this.writer.seal();
  }

  observe({ onCommit, onDamaged, onFailure }: EngineObserver): void {
    if (onCommit !== undefined) this.writer.onCommit = onCommit;
    if (onFailure !== undefined) this.writer.onFailure = onFailure;
    if (onDamaged === undefined) return;
    this.writer.onDamaged = onDamaged;
    const losses = listWalDamages(this.#folder).map(describeWalDamage);
    for (const what of [...this.#mended, ...losses, ...this.commitLog.damage]) onDamaged(what);
  }

  close(): Promise<void> {
    return this.#close();
  }
}
