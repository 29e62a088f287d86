// Stands for the log until it is merged.
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { CommitLog } from '../../domain/ports/commit-log.ts';
import type { Fence } from '../../domain/ports/coordination.ts';
import type { EngineFigures } from '../../domain/ports/engine.ts';
import type { Series } from '../../domain/ports/series.ts';
import type { PostgresDatabase } from './database/postgres-database.ts';

export interface LogParts {
  readonly commitLog: CommitLog;
  readonly series: Series;
  readonly figures: Pick<EngineFigures, 'refusesBecause' | 'refusedWrites' | 'logDatapoints' | 'reads'>;
  readonly damage: readonly string[];
  readonly unsealedBytes: number;
  onCommit: (durationMs: number) => void;
  onDamaged: (what: string) => void;
  onFailure: (error: Error, options: { readonly fatal: boolean }) => void;
  seal(): Promise<void>;
  purge(): void;
  beforeLastSeen(): Promise<void>;
  close(): Promise<void>;
}

export function openLog(_parts: {
  readonly database: PostgresDatabase;
  readonly clock: Clock;
  readonly log: Log | undefined;
  readonly isNewest: (fence: Fence) => boolean;
}): Promise<LogParts> {
  throw new Error('not there yet');
}
