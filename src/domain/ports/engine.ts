// The storage engine: all that the service needs of what keeps its data, in one look. server.ts, the metrics and the wiring
// know this interface alone; which engine it is decides engines/open.ts.
import type { DataUsage } from '../datapoints/ingest/storage-quota.ts';
import type { CommitLog } from './commit-log.ts';
import type { Coordination } from './coordination.ts';
import type { MqttSessionRules, MqttSessions } from './mqtt-sessions.ts';
import type { RegistryStores } from './registry-stores.ts';
import type { Series } from './series.ts';

export interface Engine {
  readonly stores: RegistryStores;
  readonly commitLog: CommitLog;
  readonly series: Series;
  readonly coordination: Coordination;
  readonly figures: EngineFigures;
  /** What MQTT stores; opened once. */
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

/** Figures for the metrics and for readiness, at hand in memory. */
export interface EngineFigures {
  /** Why writes are refused, or datapoints among them, for people; undefined while they are not. */
  readonly refusesBecause: string | undefined;
  /** Units of writes refused since the start because of that. */
  readonly refusedWrites: number;
  /** Datapoints in the log that have not been sealed. */
  readonly logDatapoints: number;
  readonly reads: ReadCounts;
}

/** Steps of long reads, which wait for their turn. */
export interface ReadCounts {
  /** Begun since the start. */
  readonly made: number;
  /** Not made, because whoever asked had gone before their turn came. */
  readonly dropped: number;
  /** Waiting now. */
  readonly waiting: number;
}

export interface EngineObserver {
  /** A commit reached the disk, and how long that took. */
  onCommit?(durationMs: number): void;
  /** Something that is stored turned out to be damaged. */
  onDamaged?(what: string): void;
  /** Background maintenance failed; or, where it is fatal, the engine has ended. */
  onFailure?(error: Error, options: { readonly fatal: boolean }): void;
}
