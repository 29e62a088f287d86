// The engine of one server on a PostgreSQL database. Made by open.ts; the rest of the service sees only the interface Engine.
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { DataUsage } from '../../domain/datapoints/ingest/storage-quota.ts';
import type { CommitLog } from '../../domain/ports/commit-log.ts';
import type { Engine, EngineFigures, EngineObserver } from '../../domain/ports/engine.ts';
import type { MqttSessionRules, MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import type { NodeRegister } from '../../domain/ports/nodes.ts';
import type { RegistryStores } from '../../domain/ports/registry-stores.ts';
import type { Series } from '../../domain/ports/series.ts';
import type { PostgresCoordination } from './coordination/postgres-coordination.ts';
import { PostgresNodes } from './coordination/postgres-nodes.ts';
import type { Ground } from './ground.ts';
import type { LogParts } from './log-parts.ts';
import { type OpenedMqttSessions, openMqttSessions } from './mqtt/mqtt-sessions.ts';

export class PostgresEngine implements Engine {
  readonly stores: RegistryStores;
  readonly commitLog: CommitLog;
  readonly series: Series;
  readonly coordination: PostgresCoordination;
  readonly nodes: NodeRegister;
  readonly figures: EngineFigures;
  readonly #ground: Ground;
  readonly #parts: LogParts;
  readonly #clock: Clock;
  readonly #log: Log | undefined;
  readonly #mqtt: OpenedMqttSessions[] = [];

  constructor({
    ground,
    parts,
    clock,
    log,
  }: {
    readonly ground: Ground;
    readonly parts: LogParts;
    readonly clock: Clock;
    readonly log?: Log | undefined;
  }) {
    this.#ground = ground;
    this.#parts = parts;
    this.#clock = clock;
    this.#log = log;
    this.stores = ground.stores;
    this.coordination = ground.coordination;
    this.nodes = new PostgresNodes(ground);
    this.commitLog = parts.commitLog;
    this.series = parts.series;
    this.figures = {
      get refusesBecause() {
        return ground.membership.refusesBecause ?? parts.figures.refusesBecause;
      },
      get refusedWrites() {
        return parts.figures.refusedWrites + ground.writer.refused;
      },
      get logDatapoints() {
        return parts.figures.logDatapoints;
      },
      // PostgreSQL tells of none by itself.
      lossesByDamage: 0,
      reads: parts.figures.reads,
      standby: parts.figures.standby,
    };
    ground.onPurge = () => parts.purge();
    ground.onLogHint = () => parts.wake();
    ground.searches.devicesOf = (asked) => parts.lastValues.find(asked);
    ground.searches.beforeLastSeen = () => parts.beforeLastSeen();
  }

  openMqttSessions(rules: MqttSessionRules): MqttSessions {
    const { database, membership } = this.#ground;
    const opened = openMqttSessions(rules, {
      ...{ database, clock: this.#clock, holder: membership.id, log: this.#log, written: membership.formats },
      handedOn: this.#parts.handedOn,
    });
    this.#mqtt.push(opened);
    return opened.sessions;
  }

  /** How full the server's disk is no client of it is told: only the size of the data can be bounded (DUNDUN_DATA_MAX_BYTES). */
  async usage(): Promise<DataUsage> {
    const { database } = this.#ground;
    const [row] = await database.query<{ bytes: number }>(
      database.distribution.value === 2 ? sizeWithShardsSql : sizeSql,
    );
    return {
      usedBytes: row?.bytes ?? 0,
      freeBytes: Number.POSITIVE_INFINITY,
      diskBytes: 0,
      reusableBytes: 0,
      owedBytes: 0,
      unsealedBytes: this.#parts.unsealedBytes,
      reserveBytes: 0,
      isReserveInUse: false,
    };
  }

  seal(): Promise<void> {
    return this.#parts.seal();
  }

  observe({ onCommit, onDamaged, onFailure }: EngineObserver): void {
    const { writer, membership } = this.#ground;
    if (onCommit !== undefined) {
      writer.onCommit = onCommit;
      this.#parts.observer.onCommit = onCommit;
    }
    if (onFailure !== undefined) {
      this.#parts.observer.onFailure = onFailure;
      membership.onLost = (error) => onFailure(error, { fatal: true });
    }
    if (onDamaged === undefined) return;
    this.#parts.observer.onDamaged = onDamaged;
    for (const what of this.#parts.damage) onDamaged(what);
  }

  async close(): Promise<void> {
    await Promise.all(this.#mqtt.map((opened) => opened.close()));
    await this.#parts.close();
    await this.#ground.close();
  }
}

const sizeSql = 'SELECT pg_database_size(current_database()) AS bytes';
const sizeWithShardsSql = `SELECT pg_database_size(current_database()) + (SELECT coalesce(sum(citus_total_relation_size(table_name)), 0)
  FROM citus_tables WHERE citus_table_type = 'distributed') AS bytes`;
