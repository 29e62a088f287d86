// What an engine provides for MQTT: it stores changes in units, reads them back, and loads the sessions at start. Each
// engine makes statements of its own of them (embedded/mqtt, postgres/mqtt); all else about sessions is in this folder.
import type { MissedCommit, SubscriptionOptions } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { PacketRow } from './mqtt-packet.ts';
import type { StoredSession } from './sessions/mqtt-session.ts';

/** Answered at once by an engine that has the tables in its process. */
export type Answer<T> = T | Promise<T>;

/** The columns that every stored packet has. */
interface PacketColumns {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly rest: Uint8Array | null;
}

/** A session's row is stored, or replaced. */
export interface SessionChange {
  readonly kind: 'session';
  readonly session: number;
  readonly clientId: string;
  readonly user: UserKey | null;
  readonly awayMs: number | null;
  /** Seconds for which it is kept after its connection, as its client asked. */
  readonly expiryS: number | null;
}

/** A message is stored once, and for each session that waits for it, with the QoS in which that gets it. */
export interface MessageChange extends PacketColumns {
  readonly kind: 'message';
  readonly message: number;
  /** Charged to each session. */
  readonly bytes: number;
  readonly recipients: ReadonlyMap<StoredSession, number>;
}

export interface IncomingChange extends PacketColumns {
  readonly kind: 'incoming';
  readonly session: number;
  readonly packetId: number;
  readonly qos: number;
  readonly retain: boolean;
}

export interface WillChange extends PacketColumns {
  readonly kind: 'will';
  readonly clientId: string;
  readonly brokerId: string;
  readonly user: UserKey | null;
  readonly qos: number;
  readonly retain: boolean;
}

/** Counts as `retained.replaced`, `retained.added` or `retained.full`. */
export interface RetainedChange extends PacketColumns {
  readonly kind: 'retained';
  readonly user: UserKey | null;
  readonly qos: number;
  /** Bytes of its properties of MQTT 5. */
  readonly extra: number;
  /** Whether there may be one more topic. */
  readonly mayAdd: boolean;
}

export const retained = { full: 0, replaced: 1, added: 2 };

/** A row of a session's queue. */
interface QueueEntry {
  readonly session: number;
  readonly message: number;
}

/**
 * A change counts as the number of rows that it changed, where anybody asks. Session: the key of a stored session. A
 * session that ended takes its first `clearRowsMax` queued messages along and counts them; `queue-cleared` the next ones.
 */
export type MqttChange =
  | SessionChange
  | { readonly kind: 'away'; readonly session: number; readonly awayMs: number | null }
  | { readonly kind: 'all-away'; readonly awayMs: number }
  | { readonly kind: 'session-ended'; readonly session: number; readonly clientId: string }
  | { readonly kind: 'queue-cleared'; readonly session: number }
  | {
      readonly kind: 'filter';
      readonly session: number;
      readonly filter: string;
      readonly qos: number;
      /** Options of MQTT 5 in JSON. */
      readonly options: string | null;
    }
  | { readonly kind: 'filter-removed'; readonly session: number; readonly filter: string }
  | { readonly kind: 'overlong-filters-cleared' }
  | MessageChange
  | (QueueEntry & { readonly kind: 'sent'; readonly packetId: number })
  | (QueueEntry & { readonly kind: 'released' })
  | (QueueEntry & { readonly kind: 'acknowledged' })
  /** Removed unless it was sent. */
  | (QueueEntry & { readonly kind: 'dropped' })
  | IncomingChange
  | { readonly kind: 'incoming-removed'; readonly session: number; readonly packetId: number }
  | WillChange
  | { readonly kind: 'will-removed'; readonly clientId: string; readonly brokerId: string }
  | { readonly kind: 'wills-removed'; readonly user: UserKey }
  | RetainedChange
  | { readonly kind: 'retained-removed'; readonly topic: string }
  /** Removes at most `retainedPageRows` of a user's retained messages on topics from `from` to before `to`. */
  | { readonly kind: 'retained-cleared'; readonly user: UserKey; readonly from: string; readonly to: string }
  | { readonly kind: 'usage'; readonly user: UserKey; readonly sessions: number; readonly bytes: number };

/** Rows that one cleaning statement deletes: few, so that ingest does not wait. */
export const clearRowsMax = 1_000;

/** Retained messages read or removed in one step. */
export const retainedPageRows = 500;

export interface QueuedRow extends PacketRow {
  readonly message: number;
  /** Whether PUBREC came for it. */
  readonly isReleased: boolean;
}

export interface IncomingRow extends PacketRow {
  readonly isRetain: boolean;
}

export interface WillRow extends IncomingRow {
  readonly clientId: string;
  readonly brokerId: string;
  readonly user: UserKey | null;
}

export interface RetainedRow extends PacketRow {
  readonly user: UserKey | null;
}

/** What a user has retained, in bytes: in all, and on the topics asked for. */
export interface RetainedUse {
  readonly bytes: number;
  readonly bytesOnTopics: number;
}

/** Reads see all changes whose promise has resolved. */
export interface MqttReads {
  /** The highest number of a stored message. */
  lastMessage(): Answer<number>;
  queued(session: number, message: number): Answer<QueuedRow | undefined>;
  /** The queue of a session in order, up to a message. */
  queue(session: number, upTo: number): AsyncIterable<QueuedRow>;
  incoming(session: number, packetId: number): Answer<IncomingRow | undefined>;
  /** The clients with a will in a run of the broker. */
  willClients(brokerId: string): Answer<readonly string[]>;
  will(clientId: string, brokerId: string): Answer<WillRow | undefined>;
  /** All wills but those of other processes that are alive. */
  wills(): Answer<readonly Pick<WillRow, 'clientId' | 'brokerId'>[]>;
  retainedCount(): Answer<number>;
  /** Promises resolve in the order of the calls. */
  retainedUse(user: UserKey | undefined, topics: readonly string[]): Answer<RetainedUse>;
  /** All topics with a retained message, or those of a prefix and below it, in pages; other work runs in between. */
  retainedTopics(prefix: string | undefined): AsyncIterable<readonly string[]>;
  /** The retained messages of these topics, in their order. */
  retained(topics: readonly string[]): Iterable<RetainedRow> | AsyncIterable<RetainedRow>;
}

export interface LoadedSessions {
  /** The highest key that a session or a queue of this process has had. */
  readonly lastKey: number;
  /** Number of filters left out because they are longer than is allowed now. */
  readonly overlong: number;
  /** Filters left out for want of memory: those to be removed now, and their total number. */
  readonly overQuota: readonly { readonly session: number; readonly filter: string }[];
  readonly overQuotaCount: number;
}

/** Functions that loading calls for each row. */
export interface LoadingParts {
  readonly add: (session: StoredSession) => void;
  /** False where there is no memory for the filter. */
  readonly addFilter: (session: StoredSession, filter: string, options: SubscriptionOptions) => boolean;
  readonly addBytes: (session: StoredSession, bytes: number) => void;
  /** Removes a queue whose session no longer exists. */
  readonly clearQueue: (key: number) => void;
}

/** A session that another process had, as it is stored. */
export interface TakenSession {
  readonly key: number;
  readonly clientId: string;
  readonly user: UserKey | undefined;
  readonly awayMs: number | undefined;
  readonly expiryS: number | undefined;
  readonly filters: readonly { readonly filter: string; readonly options: SubscriptionOptions }[];
  /** The row of the log up to which messages are kept for it; undefined where nobody knows. */
  readonly keptRow: number | undefined;
  readonly queued: number;
  readonly queuedBytes: number;
  readonly sent: readonly {
    readonly packetId: number;
    readonly message: number;
    readonly bytes: number;
    readonly isReleased: boolean;
  }[];
  readonly incoming: readonly { readonly packetId: number; readonly bytes: number }[];
}

/** A session that no server serves. */
export interface OwnerlessSession {
  readonly clientId: string;
  /** Its server has let it go, for one to which its client connects, which is about to take it. */
  readonly isLetGo: boolean;
}

/** What rows of the log have for sessions that have missed them. */
export interface MissedCommits {
  readonly commits: readonly MissedCommit[];
  /** The last row that was read. */
  readonly upTo: number;
  /** How many rows up to that are not in the log any more. */
  readonly gone: number;
}

/** How sessions pass from one process to another. */
export interface SessionHandover {
  /** Up to which row messages were kept for the sessions of this process before it started; undefined where nobody knows. */
  readonly keptRow: number | undefined;
  /** The same, by key, of those of its sessions that had not caught up. */
  readonly ownRows: ReadonlyMap<number, number>;
  /** Client ids of sessions that no process has, `limits.sessionsTakenAtOnce` at most. */
  ownerless(): Promise<readonly OwnerlessSession[]>;
  /** Runs work while the log hands nothing on; it is given the last row that was handed on. */
  atRest<T>(work: (row: number) => Promise<T>): Promise<T>;
  /** The last row that was, or is being, handed on. */
  readonly lastRow: number;
  /** Resolves when all that was committed at the call was handed on. */
  readonly follow: () => Promise<void>;
  /** Some rows behind one, up to another that was handed on. */
  readMissed(behind: number, upTo: number): Promise<MissedCommits>;
  /**
   * From now on the session is one of no process. Called when all changes of it are stored.
   * @param keptRow up to which messages are kept for it; undefined: up to what is stored of that.
   */
  letGo(clientId: string, keptRow: number | undefined): Promise<void>;
  /** Messages are kept for these sessions as for all others of this process. */
  keptAsAll(keys: readonly number[]): Promise<void>;
  /** Messages are kept up to this row for all sessions of this process. */
  noteKept(row: number): Promise<void>;
  /**
   * Takes a session that no other process has. Its queue is numbered behind the number that `reserve` returns for so many
   * messages; it may be called again. Undefined where there is no such session.
   */
  take(clientId: string, reserve: (count: number) => number): Promise<TakenSession | undefined>;
}

export interface MqttTables {
  readonly reads: MqttReads;
  /** Left out by an engine of one process. */
  readonly handover?: SessionHandover;
  /** Units under way at once, so that the engine never waits for the next. */
  readonly unitsAtOnce: number;
  /** Whether a message counts in a unit as one row more for each session that gets it: a database gives up what takes too long. */
  readonly countsRecipients?: boolean;
  /**
   * Whether a write that was refused with this error may stand when it is made again a moment later: the database is another process, and
   * was away. Left out by an engine for which that is never so.
   */
  mayPass?(error: unknown): boolean;
  /** The service stops: what is in doubt is not waited for any more. */
  giveUp?(): void;
  /** Called before anything is read or written. */
  start(brokerId: string): Promise<void>;
  /**
   * Reads sessions, filters, queues and inbound messages, row by row, so that nothing else is held in memory meanwhile;
   * returns the filters that do not fit.
   */
  load(parts: LoadingParts): Promise<LoadedSessions>;
  /**
   * Stores all changes or none; resolves after the commit.
   * @param options `isPatient`: where it is in doubt whether it was committed, waits for minutes until that is known.
   * @returns what each change counts as.
   * @throws Refusal `storage` when the disk refuses.
   */
  write(changes: readonly MqttChange[], options?: { readonly isPatient?: boolean }): Promise<readonly number[]>;
  /** Called when no change is pending. */
  close(): Promise<void>;
}

/** Filters beyond the memory that one start removes; the next start removes more. */
export const overQuotaRemovedMax = 10_000;

export function parseOptions(options: string | null): Omit<SubscriptionOptions, 'qos'> {
  return options === null ? {} : JSON.parse(options);
}
