// The port by which a server tells of itself to those who look, and an engine of all servers on its data: for admins, and for
// `dundun nodes`. Every engine passes test/storage/nodes.suite.ts.

/** What a server tells of itself. */
export interface NodeFigures {
  /** The name of its machine or container, with the port of HTTP once that is open. */
  readonly host: string;
  readonly release: string;
  /** Connections that are open. */
  readonly connections: { readonly http: number; readonly mqtt: number };
  /** Datapoints that it has stored a second, over the last minute. */
  readonly datapointsPerSecond: number;
}

export interface NodeReport {
  readonly id: string;
  /** Whether it is the process that was asked. */
  readonly isOwn: boolean;
  /** When it joined, milliseconds since 1970 UTC; where servers share the data, by the clock of the database. */
  readonly startedMs: number;
  /** Its last sign of life, likewise. */
  readonly lastSeenMs: number;
  /** Since then, milliseconds. */
  readonly silentMs: number;
  /** False where that is so long that others may take its work over. */
  readonly isAlive: boolean;
  /** Announcements of others that it has not applied. */
  readonly behind: number;
  /** Datapoints of the log that it has not read. */
  readonly behindLog: number;
  /** Names of the leases that it holds: those of the domain, and those by which an engine divides its own work. */
  readonly leases: readonly string[];
  /** As it told them with a sign of life, at most a few seconds ago while it is alive; undefined before the first time. */
  readonly figures: NodeFigures | undefined;
}

export interface NodeRegister {
  /** Whether several servers may use the data. */
  readonly isShared: boolean;
  /** Sets what this server tells of itself, which is asked with each sign of life. Call once. */
  tell(figures: () => NodeFigures): void;
  /** The servers on the data, in the order in which they joined; at most `limits.serversMax`. */
  list(): Promise<readonly NodeReport[]>;
}

export interface NodesReport {
  readonly nodes: readonly NodeReport[];
  /** Connections to the database by the part of the service that has them, commands included. */
  readonly connections: readonly { readonly name: string; readonly count: number }[];
}
