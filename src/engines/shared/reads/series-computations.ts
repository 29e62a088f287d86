// Turns one step of a read into its answer (rows of buckets, a downsampled choice, or JSON) in the thread that decodes
// the chunks, so that little is sent between threads. Works on decoded chunks without copying them.

import { type Columns, columnsOf, type Slice } from '../../../domain/datapoints/columns.ts';
import { Aggregation } from '../../../domain/datapoints/history/aggregate.ts';
import { Downsampling, type Span, selectedPoints } from '../../../domain/datapoints/history/downsample.ts';
import { jsonBytesMax, RowWriter } from '../../../domain/datapoints/history/row-encoding.ts';
import { type Calibration, calibrateColumn } from '../../../domain/devices/calibration.ts';
import type {
  AggregateQuery,
  AggregateStep,
  DownsampleQuery,
  DownsampleStep,
  TextQuery,
  TextStep,
} from '../../../domain/ports/series.ts';
import { gather } from '../codec/gathering.ts';
import type { HeadPart } from '../head/head-part.ts';
import type { SeriesReader } from './series-reader.ts';

/** Returns a buffer of at least so many bytes. */
export type TextBuffer = (bytes: number) => Uint8Array<ArrayBuffer>;

/** @throws Refusal `damaged` */
export function aggregateStep(series: SeriesReader, query: AggregateQuery, head: HeadPart): AggregateStep {
  return series.inSnapshot(() => {
    const { slices, next } = series.take({ ...query, valuesOnly: true }, head);
    const aggregation = new Aggregation(query);
    const correct = correctionBy(query.calibration);
    for (const slice of slices) aggregation.add(correct(slice));
    const { rows, open } = aggregation;
    return { rows, count: countOf(slices), open, next };
  });
}

/** @throws Refusal `damaged` */
export function downsampleStep(series: SeriesReader, query: DownsampleQuery, head: HeadPart): DownsampleStep {
  return series.inSnapshot(() => {
    const { points, calibration, descending } = query;
    const open = query.open ?? { span: spanOf(series, query, head), column: undefined };
    const { slices, next } = series.take(query, head);
    const { span } = open;
    if (span === undefined) return { columns: columnsIn(slices, query), open: next && open, next };
    const downsampling = new Downsampling({ points, span, descending, open: open.column });
    const correct = correctionBy(calibration);
    for (const slice of slices) downsampling.add(correct(slice));
    const column = downsampling.open;
    if (next !== undefined) return { columns: columnsOf(downsampling.points), open: { span, column }, next };
    const last = column === undefined ? [] : selectedPoints(column, descending);
    return { columns: columnsOf([...downsampling.points, ...last]), open: undefined, next };
  });
}

/** @throws Refusal `damaged` */
export function textStep(series: SeriesReader, query: TextQuery, head: HeadPart, allocate: TextBuffer): TextStep {
  return series.inSnapshot(() => {
    const { encoding, descending, calibration } = query;
    const { slices, next } = series.take(query, head);
    const shown = pageOf(slices, query).map(correctionBy(calibration));
    const buffer = allocate(shown.reduce((bytes, slice) => bytes + jsonBytesMax(slice), 2));
    const writer = new RowWriter(buffer, { at: 1, encoding });
    for (const slice of shown) writer.add(slice, descending);
    return { text: buffer.subarray(0, writer.at + 1), rows: countOf(shown), count: countOf(slices), next };
  });
}

function countOf(slices: readonly Slice[]): number {
  return slices.reduce((count, { from, to }) => count + to - from, 0);
}

/** The rows of a page, as slices. */
function pageOf(slices: readonly Slice[], { skip, rowsMax, descending }: TextQuery): Slice[] {
  const shown: Slice[] = [];
  let [left, room] = [skip, rowsMax];
  for (const { columns, from, to } of slices) {
    const passed = Math.min(left, to - from);
    const rows = Math.min(room, to - from - passed);
    left -= passed;
    room -= rows;
    if (rows === 0) continue;
    const first = descending ? to - passed - rows : from + passed;
    shown.push({ columns, from: first, to: first + rows });
  }
  return shown;
}

function columnsIn(slices: readonly Slice[], { descending, calibration }: DownsampleQuery): Columns {
  const columns = gather(slices, { reversed: descending, isCopy: true });
  return correctionBy(calibration)({ columns, from: 0, to: columns.count }).columns;
}

/**
 * The times of the first and the last datapoint; undefined where there are no more than `points`, so that all are kept.
 */
function spanOf(series: SeriesReader, query: DownsampleQuery, head: HeadPart): Span | undefined {
  if (series.countWithin(query, head, query.points) <= query.points) return undefined;
  const end = (descending: boolean) => {
    const { slices } = series.take({ ...query, descending, limit: 1, valuesOnly: true }, head);
    return slices.map(({ columns, from }) => columns.at[from] as number)[0] as number;
  };
  return { fromMs: end(false), toMs: end(true) };
}

/** Returns a function that calibrates the values of a slice; without a calibration it returns the slice itself. */
function correctionBy(calibration: Calibration | undefined): (slice: Slice) => Slice {
  if (calibration === undefined) return (slice) => slice;
  // Several slices may belong to the same columns, which are calibrated once.
  const known = new Map<Columns, Columns>();
  return ({ columns, from, to }) => {
    let corrected = known.get(columns);
    if (corrected === undefined) {
      corrected = { ...columns, values: new Float64Array(columns.count) };
      known.set(columns, corrected);
    }
    calibrateColumn({ columns, from, to }, calibration, corrected.values);
    return { columns: corrected, from, to };
  };
}
