// Buckets of time, from seconds to years, by the clocks of a time zone (contract 10). A bucket begins where the wall
// clock reaches a multiple of its size, counted from midnight, or for days and more from 1970 (weeks from Monday). If
// a change of clocks skips that moment, it begins at the change. Where clocks are set back, the repeated time belongs
// to the bucket of its first occurrence, unless buckets are no longer than the change. So days have 23 to 25 hours,
// while the two hours of the same name are two buckets.
import { TimeZone } from '../../../base/time/time-zone.ts';

const secondMs = 1000;
const dayMs = 86_400_000;
const unitMs = { s: secondMs, m: 60 * secondMs, h: 3600 * secondMs } as const;

export interface BucketSize {
  readonly unit: 's' | 'm' | 'h' | 'd' | 'w' | 'mo' | 'y';
  readonly count: number;
}

/** Describes for users what `parseBucketSize` accepts. */
export const bucketSizeRule =
  'must be a number and a unit: seconds (s), minutes (m) or hours (h) that divide a day, days (d), weeks (w), months (mo) or years (y), such as 15m, 1h or 1d';

/** Parses `15m`, `1h`, `1d`, `1mo` …; undefined for anything else. */
export function parseBucketSize(text: string): BucketSize | undefined {
  const [, digits, unit] = /^([1-9]\d{0,4})(s|m|h|d|w|mo|y)$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  const size = { unit, count: Number(digits) } as BucketSize;
  const ms = lengthMs(size);
  if (ms !== undefined && dayMs % ms !== 0) return undefined;
  return ms === undefined && size.count > 1000 ? undefined : size;
}

/** The buckets asked for; plain data, so that it can be sent to another thread. */
export interface BucketRequest {
  readonly size: BucketSize;
  /** An IANA time zone that `TimeZone.find` knows. */
  readonly timezone: string;
}

interface Bucket {
  readonly startMs: number;
  /** The bucket lasts until this time, or longer: later times may still belong to it. */
  readonly endMs: number;
}

/** Finds the bucket of a time; fast where successive times lie in the same bucket. */
export class Buckets {
  readonly #zone: TimeZone;
  readonly #size: BucketSize;
  readonly #spans: Spans;
  #last: Bucket = { startMs: Number.NaN, endMs: Number.NaN };
  #day: Bucket = this.#last;

  constructor(size: BucketSize, zone: TimeZone) {
    this.#zone = zone;
    this.#size = size;
    this.#spans = spansOf(lengthMs(size) === undefined ? size : { unit: 'd', count: 1 });
  }

  /** @throws Error for an unknown time zone, because the caller must have checked it. */
  static of({ size, timezone }: BucketRequest): Buckets {
    const zone = TimeZone.find(timezone);
    if (zone === undefined) throw new Error(`${timezone} is no time zone.`);
    return new Buckets(size, zone);
  }

  /** The bucket of this time. */
  bucketOf(ms: number): Bucket {
    if (!(ms >= this.#last.startMs && ms < this.#last.endMs)) this.#last = this.#find(ms);
    return this.#last;
  }

  #find(ms: number): Bucket {
    const length = lengthMs(this.#size);
    if (length === undefined) return this.#findSpan(ms);
    if (!(ms >= this.#day.startMs && ms < this.#day.endMs)) this.#day = this.#findSpan(ms);
    return this.#findWithin(this.#day, ms, length);
  }

  /** The span of days, weeks, months or years that contains a time. */
  #findSpan(ms: number): Bucket {
    let number = this.#spans.numberOf(this.#zone.wallAt(ms));
    let startMs = this.#zone.firstShowing(this.#spans.wallOf(number));
    let endMs = this.#zone.firstShowing(this.#spans.wallOf(number + 1));
    // Where clocks are set back across midnight, the next span may have begun already.
    while (ms >= endMs) {
      number += 1;
      startMs = endMs;
      endMs = this.#zone.firstShowing(this.#spans.wallOf(number + 1));
    }
    return { startMs, endMs };
  }

  /** The bucket of a time within a day. Clocks change at most once on a day. */
  #findWithin(day: Bucket, ms: number, length: number): Bucket {
    const zone = this.#zone;
    const morning = zone.offsetAt(day.startMs);
    const evening = zone.offsetAt(day.endMs - 1);
    if (morning === evening) return clip(ms, length, { offset: morning, ...day });
    const change = zone.changeWithin(day.startMs, day.endMs - 1);
    const before = { offset: morning, startMs: day.startMs, endMs: change };
    const after = { offset: evening, startMs: change, endMs: day.endMs };
    if (ms < change) return clip(ms, length, before);
    const setBackMs = morning - evening;
    const reached = Math.floor((change - 1 + morning) / length);
    const continues = setBackMs < length && Math.floor((ms + evening) / length) <= reached;
    if (!continues) return clip(ms, length, after);
    return { startMs: clip(change - 1, length, before).startMs, endMs: Math.max(ms + 1, change) };
  }
}

interface Stretch extends Bucket {
  readonly offset: number;
}

/** The bucket of a time within a stretch of time with a constant offset. */
function clip(ms: number, length: number, stretch: Stretch): Bucket {
  const startMs = Math.floor((ms + stretch.offset) / length) * length - stretch.offset;
  return { startMs: Math.max(startMs, stretch.startMs), endMs: Math.min(startMs + length, stretch.endMs) };
}

/** The length of buckets shorter than a day; undefined for others. */
function lengthMs({ unit, count }: BucketSize): number | undefined {
  return unit === 's' || unit === 'm' || unit === 'h' ? unitMs[unit] * count : undefined;
}

/** Numbered spans of whole days on the wall clock. */
interface Spans {
  numberOf(wallMs: number): number;
  wallOf(number: number): number;
}

function spansOf({ unit, count }: BucketSize): Spans {
  if (unit === 'd' || unit === 'w') {
    const days = unit === 'd' ? count : 7 * count;
    // 1970-01-01 was a Thursday.
    const shift = unit === 'd' ? 0 : 3;
    return {
      numberOf: (wallMs) => Math.floor((Math.floor(wallMs / dayMs) + shift) / days),
      wallOf: (number) => (number * days - shift) * dayMs,
    };
  }
  const months = unit === 'mo' ? count : 12 * count;
  return {
    numberOf: (wallMs) => {
      const date = new Date(wallMs);
      return Math.floor((date.getUTCFullYear() * 12 + date.getUTCMonth()) / months);
    },
    wallOf: (number) => new Date(0).setUTCFullYear(0, number * months, 1),
  };
}
