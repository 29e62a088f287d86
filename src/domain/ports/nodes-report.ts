// What an engine tells of the servers on its data, for `dundun nodes`.

export interface NodeReport {
  readonly id: string;
  /** When it joined, milliseconds since 1970 UTC by the clock of the database. */
  readonly startedMs: number;
  /** Since its last sign of life, milliseconds. */
  readonly silentMs: number;
  /** False where that is so long that others may take its work over. */
  readonly isAlive: boolean;
  /** Announcements of others that it has not applied. */
  readonly behind: number;
  /** Datapoints of the log that it has not read. */
  readonly behindLog: number;
  /** Names of the leases that it holds. */
  readonly leases: readonly string[];
}

export interface NodesReport {
  readonly nodes: readonly NodeReport[];
  /** Connections to the database by the part of the service that has them, commands included. */
  readonly connections: readonly { readonly name: string; readonly count: number }[];
}
