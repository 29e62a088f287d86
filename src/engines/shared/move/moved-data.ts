// What is moved from one engine to another, in words that both know: chunks as they are, rows of the registry and of MQTT by
// their tables, and the end of the log.
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import type { LogPiece } from '../log/log-piece.ts';
import type { ReceiptKey } from '../log/receipt-ids.ts';

/** By which two chunks are known to be the same: an id is never given twice, and its bytes end with a checksum. */
export interface ChunkMark {
  readonly id: number;
  readonly sensor: number;
  /** Times of its first and last datapoint, milliseconds since 1970 UTC. */
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly size: number;
  /** The last bytes, in hexadecimal digits. */
  readonly tail: string;
}

export interface MovedChunk extends Omit<ChunkMark, 'size' | 'tail'> {
  readonly numbers: number;
  readonly min: number | null;
  readonly max: number | null;
  readonly sum: number | null;
  readonly bytes: Uint8Array;
}

/** Bytes of a chunk that a mark has. */
export const tailBytes = 8;

/** A column of a row, as SQLite has it. */
export type MovedValue = number | string | Uint8Array | null;
export type MovedRow = Readonly<Record<string, MovedValue>>;

/** The datapoint of a sensor that was received last. */
export interface MovedLatest {
  readonly sensor: number;
  readonly seq: number;
  /** When it was measured and received, milliseconds since 1970 UTC; `stamped`: 1 where it came with a time of its own. */
  readonly at: number;
  readonly stamped: number;
  readonly received: number;
  readonly value: StoredValue;
}

export interface MovedReceipt extends ReceiptKey {
  readonly caller: string;
  readonly bodyHash: string;
  readonly answer: string;
  readonly at: number;
}

/** A row of the log that is sealed, and that rules have not evaluated. */
export interface MovedPiece extends LogPiece {
  /** Pairs: index of the first datapoint of a range that no rule evaluates, and how many. */
  readonly rulesSkipped: readonly number[];
}

/** How far the log has come, all of it sealed. */
export interface MovedLogEnd {
  readonly lastSeq: number;
  /** The position that rules have confirmed; undefined where nobody follows. */
  readonly followedSeq: number | undefined;
  readonly newestReceivedMs: number | undefined;
  readonly unread: readonly MovedPiece[];
}

/** What a sensor has in chunks: how many datapoints, and a digest over all their bytes. */
export interface SensorDigest {
  readonly sensor: number;
  readonly count: number;
  readonly digest: string;
}

/**
 * Tables whose rows are moved as they are; each comes after those that its rows refer to. What is not here is moved in another
 * form (chunks, the end of the log, last values, receipts), or is of one engine alone.
 */
export const movedTables = [
  ...['setting', 'secret', 'growth', 'quota_default', 'user', 'quota_exception', 'usage'],
  ...['account_link', 'api_key', 'api_key_use', 'refresh_session', 'paid_message'],
  ...['device', 'sensor', 'actuator', 'actuator_setting', 'former_device_id', 'former_sensor_id', 'drop_log', 'share'],
  ...['gateway', 'gateway_share', 'project', 'project_device', 'project_share'],
  ...['handover', 'handover_charge', 'handover_usage', 'push_charge', 'purge'],
  ...['notification', 'notification_memory', 'former_recipient', 'message', 'alarm'],
  ...['damaged_chunk', 'mqtt_fingerprint'],
  ...['mqtt_session', 'mqtt_subscription', 'mqtt_message', 'mqtt_queue', 'mqtt_incoming', 'mqtt_will', 'mqtt_retained'],
] as const;

export type MovedTable = (typeof movedTables)[number];

/** Where data come from. All lists are in steps of a bounded size. */
export interface MoveSource {
  countChunks(): Promise<number>;
  /** Chunks with greater ids, in their order. */
  chunksAfter(id: number): Promise<readonly MovedChunk[]>;
  chunksOf(ids: readonly number[]): Promise<readonly MovedChunk[]>;
  marksAfter(id: number): Promise<readonly ChunkMark[]>;
  rowsOf(table: MovedTable): AsyncIterable<readonly MovedRow[]>;
  /** The greatest key that each table has ever given. */
  sequences(): Promise<ReadonlyMap<string, number>>;
  latest(): AsyncIterable<readonly MovedLatest[]>;
  receipts(): AsyncIterable<readonly MovedReceipt[]>;
  logEnd(): Promise<MovedLogEnd>;
  /** Counts changes of alarms, for live streams that come back. */
  alarmChanges(): Promise<number>;
  digests(): AsyncIterable<readonly SensorDigest[]>;
}

/** Where they go. */
export interface MoveTarget {
  /** The greatest id of its chunks; 0 where it has none. */
  lastChunk(): Promise<number>;
  addChunks(chunks: readonly MovedChunk[]): Promise<void>;
  removeChunks(chunks: readonly ChunkMark[]): Promise<void>;
  marksAfter(id: number): Promise<readonly ChunkMark[]>;
  /** Replaces all but the chunks, as a whole or not at all. */
  putRest(source: MoveSource, onTable: (done: number) => void): Promise<void>;
  digests(): AsyncIterable<readonly SensorDigest[]>;
  /** All is there: a server may start on it. */
  finish(): Promise<void>;
}
