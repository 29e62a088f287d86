// Reads one step of one sensor's datapoints: fetches the chunks that it may need, and makes the step of them and the caller's part
// of the head, which was taken before. Used by the main thread for short reads and by the reader thread for long ones.
import { limits } from '../../../config/limits.ts';
import type { SeriesRange } from '../../../domain/ports/series.ts';
import type { HeadPart } from '../../shared/head/head-part.ts';
import { spanOf } from '../../shared/head/head-part.ts';
import { DecodedChunks } from '../../shared/reads/decoded-chunks.ts';
import type { Reads } from '../../shared/reads/long-reads.ts';
import { aggregateStep, downsampleStep, type TextBuffer, textStep } from '../../shared/reads/series-computations.ts';
import { SeriesReader } from '../../shared/reads/series-reader.ts';
import { ChunkReader, type StandbySource } from './chunk-reader.ts';
import type { WantedChunks } from './chunk-rows.ts';
import type { ChunkDatabase } from './shard-rows.ts';

/** One step that is asked for. */
export type StepRequest = {
  readonly [Kind in keyof Reads]: {
    readonly kind: Kind;
    readonly query: Reads[Kind]['query'];
    readonly part: HeadPart;
  };
}[keyof Reads];

export class StepReader {
  readonly #chunks: ChunkReader;
  readonly #allocate: TextBuffer;

  /**
   * @param database the primary.
   * @param options bytes of decoded chunks kept for later reads; where texts are written; what is asked for chunks first.
   */
  constructor(
    database: ChunkDatabase,
    options: {
      readonly decodedBytesMax: number;
      readonly allocate: TextBuffer;
      readonly standby: StandbySource | undefined;
    },
  ) {
    const decoded = new DecodedChunks({ bytesMax: options.decodedBytesMax });
    this.#chunks = new ChunkReader({ database, standby: options.standby, decoded });
    this.#allocate = options.allocate;
  }

  /** @throws Refusal `damaged`, `storage` */
  read(request: StepRequest): Promise<Reads[keyof Reads]['step']> {
    return this.#chunks.read(wantedBy(request), (chunks) => {
      const series = new SeriesReader(chunks);
      const { kind, query, part } = request;
      if (kind === 'range') return series.read(query, part);
      if (kind === 'aggregate') return aggregateStep(series, query, part);
      if (kind === 'downsample') return downsampleStep(series, query, part);
      return textStep(series, query, part, this.#allocate);
    });
  }

  /** The number of datapoints in a range; stops counting soon after `max`. @throws Refusal `damaged`, `storage` */
  count(range: SeriesRange, part: HeadPart, max: number): Promise<number> {
    const { sensor, fromMs = -timeEnd, toMs = timeEnd } = range;
    const wanted = { sensor, fromMs: clamped(fromMs), toMs: clamped(toMs), descending: true, datapoints: 0 };
    return this.#chunks.read(wanted, (chunks) => new SeriesReader(chunks).count(range, part, max));
  }
}

/** Beyond any time that JavaScript dates can have; tables hold 64-bit integers. */
const timeEnd = 8.64e15 + 1;

function clamped(ms: number): number {
  return Math.min(Math.max(ms, -timeEnd), timeEnd);
}

/** The first step of a downsampled read looks at the whole range, the others at what lies behind their place. */
function wantedBy({ kind, query }: StepRequest): WantedChunks {
  const { sensor, descending, limit, after } = query;
  const isWhole = kind === 'downsample' && query.open === undefined;
  const { firstMs, lastMs } = spanOf(isWhole ? { ...query, after: undefined } : query);
  const datapoints = Math.min(limit + (after?.index ?? 0), limits.chunkDatapointsMax);
  return { sensor, fromMs: clamped(firstMs), toMs: clamped(lastMs), descending, datapoints };
}
