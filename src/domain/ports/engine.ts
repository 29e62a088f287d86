// The storage engine: everything that the service needs from the code that keeps its data. server.ts, the metrics and
// the wiring know only this interface; engines/open.ts decides which engine it is.
import type { DataUsage } from '../datapoints/ingest/storage-quota.ts';
import type { CommitLog } from './commit-log.ts';
import type { Coordination } from './coordination.ts';
import type { MqttSessionRules, MqttSessions } from './mqtt-sessions.ts';
import type { NodeRegister } from './nodes.ts';
import type { RegistryStores } from './registry-stores.ts';
import type { Series } from './series.ts';

export interface Engine {
  readonly stores: RegistryStores;
  readonly commitLog: CommitLog;
  readonly series: Series;
  readonly coordination: Coordination;
  readonly nodes: NodeRegister;
  readonly figures: EngineFigures;
  /** Opens the storage of MQTT sessions. Call once. */
  openMqttSessions(rules: MqttSessionRules): MqttSessions;
  /** Bytes that the data takes on its disk, and bytes free there. Called about once a second. */
  usage(): Promise<DataUsage>;
  /** Seals all of the log now, which makes it smaller. */
  seal(): Promise<void>;
  /** Registers the observer of the engine's events. Damage found at the start is reported to it at once. */
  observe(observer: EngineObserver): void;
  /** Finishes the writes that were accepted, then closes the database and the log. Later writes are refused. */
  close(): Promise<void>;
}

/** Figures for the metrics and for readiness, which are read from memory. */
export interface EngineFigures {
  /** Why writes, or only writes of datapoints, are refused, for people; undefined while they are accepted. */
  readonly refusesBecause: string | undefined;
  /** Units of writes that were refused since the start for such a reason. */
  readonly refusedWrites: number;
  /** Datapoints in the log that have not been sealed. */
  readonly logDatapoints: number;
  /** Times at which acknowledged writes were lost by damage on the disk, until an operator has forgotten them. */
  readonly lossesByDamage: number;
  readonly reads: ReadCounts;
  /** Only where history is read from a standby. */
  readonly standby?: StandbyCounts | undefined;
}

/**
 * Why a step of history that a standby was to answer was read from the primary: other chunks of the sensor are stored by now (`behind`);
 * recovery needed what the statement read (`conflict`); the time was up (`slow`); no connection (`unreachable`); it is no standby any
 * more (`promoted`), or one of another database (`other`); its bytes are damaged (`damaged`); an error (`failed`).
 */
export type StandbyReason =
  | 'behind'
  | 'conflict'
  | 'slow'
  | 'unreachable'
  | 'promoted'
  | 'other'
  | 'damaged'
  | 'failed';

/** Counts of steps of reads of history, since the start. */
export interface StandbyCounts {
  /** Those whose chunks came from the standby. */
  readonly read: number;
  readonly fallbacks: Readonly<Record<StandbyReason, number>>;
}

/** Counts of steps of long reads, which wait for their turn. */
export interface ReadCounts {
  /** Steps begun since the start. */
  readonly made: number;
  /** Steps that were dropped, because the asker had gone before their turn came. */
  readonly dropped: number;
  /** Steps that wait at present. */
  readonly waiting: number;
}

export interface EngineObserver {
  /** A commit reached the disk; `durationMs`: how long that took. */
  onCommit?(durationMs: number): void;
  /** Stored data turned out to be damaged; `what` says which, for people. */
  onDamaged?(what: string): void;
  /** Background maintenance failed; if `fatal`, the engine has ended. */
  onFailure?(error: Error, options: { readonly fatal: boolean }): void;
}
