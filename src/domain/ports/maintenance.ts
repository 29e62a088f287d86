// What the command line does with the data beside a running server or without one: backup, restore, check. Each engine has its
// own, because it is about how the data lies on the disk. Given by engines/open.ts.

/** Where an engine has its data, as the settings name it: of the embedded engine, the data folder. */
export type DataLocation = string;

/** One thing that is wrong. */
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
  /** What must be true, for people. */
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

/** What a whole backup says of itself. */
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
   * Makes a backup. Where the checks report findings and the options do not keep it all the same, no file is left and `seal` is
   * undefined.
   * @throws Refusal `exists`, `conflict`, `storage`.
   */
  backUp(options: BackupOptions): Promise<{
    readonly reports: readonly CheckReport[];
    readonly seal: BackupFacts | undefined;
  }>;
  /** @throws Refusal `malformed` (no whole backup), `conflict` (data in use, not empty, or a newer form), `storage`. */
  restore(options: RestoreOptions): Promise<{
    readonly reports: readonly CheckReport[];
    readonly seal: BackupFacts;
    readonly isRestored: boolean;
  }>;
  /** Runs all checks on data or on the file of a backup. @throws Refusal where there is none, or it is not of this version. */
  check(dataOrFile: DataLocation, onStep: OnProgress): Promise<readonly CheckReport[]>;
  /** Removes what cannot be read any more. @throws Refusal `conflict` where it is a backup, or not in the form of this version. */
  forgetDamaged(data: DataLocation): Promise<{ readonly parts: number; readonly datapoints: number }>;
}
