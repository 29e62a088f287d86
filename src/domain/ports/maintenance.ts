// What the command line does with the data, beside a running server or without one: backup, restore, check. Each
// engine has its own, because this depends on how the data lies on the disk. engines/open.ts gives it.

/**
 * Where an engine has its data, as the settings name it: the data folder, or the address of a PostgreSQL database. An address holds a
 * password: it is not shown.
 */
export type DataLocation = string;

/** A fault that a check found. */
export interface Finding {
  readonly what: string;
  readonly where?: FindingLocation;
  /** What a person can do about it. */
  readonly advice: string;
}

/** Where the fault is, as precisely as is known. */
export interface FindingLocation {
  readonly table?: string;
  /**
   * `sensor` is the key under which datapoints are stored. `deviceId` and `sensorId` are missing where the sensor no
   * longer exists.
   */
  readonly sensor?: number;
  readonly deviceId?: string;
  readonly sensorId?: string;
  /** Times of the datapoints concerned, milliseconds since 1970 UTC. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export interface CheckReport {
  readonly name: string;
  /** What the check requires to be true, for people. */
  readonly asks: string;
  readonly findings: readonly Finding[];
  readonly elapsedMs: number;
}

/** Reports the present step, and how much of it is done. */
export type OnProgress = (step: string, done?: number, all?: number) => void;

export interface BackupOptions {
  readonly data: DataLocation;
  readonly file: string;
  /** Whether an existing file of that name may be replaced. */
  readonly isForced: boolean;
  /** Whether the backup is kept although the checks report findings. */
  readonly keepsDamaged: boolean;
  readonly nowMs: number;
  readonly onStep: OnProgress;
}

/** What a complete backup says about itself. */
export interface BackupFacts {
  readonly madeMs: number;
  readonly bytes: number;
}

export interface RestoreOptions {
  readonly file: string;
  readonly data: DataLocation;
  /** Whether existing data there may be replaced. */
  readonly isReplacing: boolean;
  /** Whether the backup is restored although the checks report findings. */
  readonly takesDamaged: boolean;
  readonly onStep: OnProgress;
}

export interface Maintenance {
  /**
   * Makes a backup. If the checks report findings and `keepsDamaged` is false, no file is left and `seal` is
   * undefined.
   * @throws Refusal `exists`, `conflict`, `storage`.
   */
  backUp(options: BackupOptions): Promise<{
    readonly reports: readonly CheckReport[];
    readonly seal: BackupFacts | undefined;
  }>;
  /**
   * Restores a backup. @throws Refusal `malformed` (not a complete backup), `conflict` (data in use, not empty, or of
   * a newer version), `storage`.
   */
  restore(options: RestoreOptions): Promise<{
    readonly reports: readonly CheckReport[];
    readonly seal: BackupFacts;
    readonly isRestored: boolean;
  }>;
  /**
   * Runs all checks on data or on a backup's file. @throws Refusal where there is none, or it is of another version.
   */
  check(dataOrFile: DataLocation, onStep: OnProgress): Promise<readonly CheckReport[]>;
  /**
   * Removes data that cannot be read any more. @throws Refusal `conflict` where it is a backup, or of another
   * version.
   */
  forgetDamaged(data: DataLocation): Promise<{
    readonly parts: number;
    readonly datapoints: number;
    /** Losses that were told until now. */
    readonly losses: number;
  }>;
}
