// The settings of the data: where they are, how much disk and memory they may take, and how long they are kept. Part of config.ts.
import { limits } from './limits.ts';
import { memoryBytesMin } from './memory-profile.ts';
import { postgresUrl } from './postgres-url.ts';
import { bytesFrom, integerBetween, nonEmpty, optional, type Setting } from './setting.ts';

export interface DataConfig {
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly databaseStandbyUrl: string | undefined;
  readonly dataBytesMax: number | undefined;
  readonly memoryBytesMax: number | undefined;
  readonly retentionDays: number | undefined;
  readonly clockSteadyMinutes: number;
}

export const dataSettings: { readonly [F in keyof DataConfig]: Setting<DataConfig[F]> } = {
  dataDir: {
    env: 'DUNDUN_DATA_DIR',
    fallback: './data',
    reason: 'Folder of all data. One server at a time uses it.',
    parse: nonEmpty,
  },
  databaseUrl: {
    env: 'DUNDUN_DATABASE_URL',
    fallback: '',
    reason:
      'A PostgreSQL database that holds all data in place of the folder, such as postgres://dundun:password@db.example/dundun?sslmode=verify-full. Several servers may share it. Empty: the folder.',
    secret: true,
    parse: optional(postgresUrl),
  },
  databaseStandbyUrl: {
    env: 'DUNDUN_DATABASE_STANDBY_URL',
    fallback: '',
    reason:
      'A hot standby of that database, from which history is read wherever it has what is asked for; else, and for all other things, the database is. Empty: none.',
    secret: true,
    parse: optional(postgresUrl),
  },
  dataBytesMax: {
    env: 'DUNDUN_DATA_MAX_BYTES',
    fallback: '',
    reason:
      'Size of the data (20GB, 500MB) beyond which new datapoints are refused with 507; all else goes on. Empty: until the disk is nearly full.',
    parse: optional(bytesFrom(limits.dataBytesMin)),
  },
  memoryBytesMax: {
    env: 'DUNDUN_MEMORY_MAX',
    fallback: '',
    reason:
      'Memory that the process may take, with all its threads (256MB, 1GB): caches, queues and heaps are as large as it allows. Empty: 512MiB, or what the machine or its container has for it, if that is less.',
    parse: optional(bytesFrom(memoryBytesMin)),
  },
  retentionDays: {
    env: 'DUNDUN_RETENTION_DAYS',
    fallback: '',
    reason:
      'Days for which datapoints are kept, unless their sensor or device says otherwise (retention_days). Empty: for ever.',
    parse: optional(integerBetween(1, limits.retentionDaysMax)),
  },
  clockSteadyMinutes: {
    env: 'DUNDUN_CLOCK_STEADY_MINUTES',
    fallback: '5',
    reason:
      'Minutes for which the clock of the machine has to be steady, after a start and after it has jumped by more than a minute, before what is too old is deleted and notifications expire or are throttled by it again. 0: it is always trusted.',
    parse: integerBetween(0, limits.clockSteadyMinutesMax),
  },
};

/** Faults of settings that must be set together. */
export function dataFaults({ databaseUrl, databaseStandbyUrl }: DataConfig): string[] {
  if (databaseStandbyUrl === undefined || databaseUrl !== undefined) return [];
  return ['DUNDUN_DATABASE_STANDBY_URL: needs DUNDUN_DATABASE_URL, the database that it is a standby of.'];
}
