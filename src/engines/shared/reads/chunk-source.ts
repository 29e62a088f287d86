// What SeriesReader needs of the chunks of one sensor, which each engine reads in its own way. Chunks of one sensor do not
// overlap: in the order (first, last, id) each begins at or after the end of the one before. Two share a time only where
// more datapoints have that time than a chunk holds.
import type { Columns } from '../../../domain/datapoints/columns.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import type { ChunkSpan } from '../sealing/chunk-plan.ts';

/** A chunk that is decoded only when it is opened. */
export interface UnopenedChunk extends Pick<ChunkSpan, 'first' | 'last'> {
  /** @throws Refusal `damaged` */
  open(): Columns;
}

/** A range of time, in milliseconds since 1970 UTC, and whether times of receiving are needed. */
export interface ChunkRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly received: boolean;
}

/** One state of the chunks; synchronous, because a step works on decoded chunks without copying them. */
export interface ChunkSource {
  /**
   * Calls `read` so that it sees one state of the database. Columns that were decoded meanwhile, and not copied, are not
   * used after it.
   */
  inSnapshot<T>(read: () => T): T;
  /** Datapoints of the sensor up to this seq are in chunks, later ones in the log. */
  sealedSeq(sensor: number): number;
  /**
   * Refuses a read whose span has a damaged chunk that sealing has set aside, rather than leave its datapoints out.
   * @throws Refusal `damaged`
   */
  assertNoneAside(sensor: SensorKey, range: Omit<ChunkRange, 'received'>): void;
  /**
   * The chunks that reach into a range, in ascending order. `received: false` does not decode the times of receiving.
   */
  readUp(sensor: SensorKey, range: ChunkRange): Iterable<UnopenedChunk>;
  /** The same in descending order. */
  readDown(sensor: SensorKey, range: ChunkRange): Iterable<UnopenedChunk>;
  /** The spans of a sensor's chunks that begin at or before a time, in descending order. */
  spans(sensor: SensorKey, toMs: number): Iterable<ChunkSpan>;
  /** A chunk without its times of receiving. @throws Refusal `damaged` */
  open(sensor: SensorKey, span: ChunkSpan): Columns;
}
