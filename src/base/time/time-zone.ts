// Wall-clock times of IANA time zones, by Node.js's Intl. A query of Intl takes microseconds, so the offsets at the
// beginning and end of each day are cached, and Intl is asked about a time within a day only where these two differ.

const dayMs = 86_400_000;
/** Earlier times are treated as this one: no zone changed its clocks before. */
const earliestMs = Date.UTC(1800, 0, 1);
/** Days whose offsets are cached for one zone, some 100 bytes each. Beyond: all cached days are dropped. */
const daysMax = 4_000;
/** Cached zones, some 50 KiB each without their days; some 600 names exist. Beyond: all cached zones are dropped. */
const zonesMax = 32;
/** More than any zone's offset from UTC, in either direction and on both sides of a change of clocks. */
const reachMs = 26 * 3_600_000;

export class TimeZone {
  static readonly #known = new Map<string, TimeZone>();
  readonly #format: Intl.DateTimeFormat;
  /** Offsets in milliseconds at midnight UTC, by that time. */
  readonly #edges = new Map<number, number>();
  /** By the day's midnight UTC: when the clocks changed on that day. Only for days on which they did. */
  readonly #changes = new Map<number, number>();

  private constructor(format: Intl.DateTimeFormat) {
    this.#format = format;
  }

  /** The zone of this name, such as `Africa/Dakar`; undefined where there is none. */
  static find(name: string): TimeZone | undefined {
    const known = TimeZone.#known.get(name);
    if (known !== undefined) return known;
    let format: Intl.DateTimeFormat;
    try {
      const numeric = 'numeric';
      format = new Intl.DateTimeFormat('en-US', {
        ...{ timeZone: name, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' },
        ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
      });
    } catch {
      return undefined;
    }
    const zone = new TimeZone(format);
    if (TimeZone.#known.size >= zonesMax) TimeZone.#known.clear();
    TimeZone.#known.set(name, zone);
    return zone;
  }

  /** Offset of the wall clock from UTC, in milliseconds. */
  offsetAt(ms: number): number {
    const day = Math.floor(ms / dayMs) * dayMs;
    const before = this.#offsetAtEdge(day);
    const after = this.#offsetAtEdge(day + dayMs);
    if (before === after) return before;
    let change = this.#changes.get(day);
    if (change === undefined) {
      change = bisect(day, day + dayMs, (at) => this.#ask(at) !== before);
      this.#changes.set(day, change);
    }
    return ms < change ? before : after;
  }

  /** The wall clock at this time, as if it were UTC. */
  wallAt(ms: number): number {
    return ms + this.offsetAt(ms);
  }

  /** The first time at which the wall clock shows `wallMs`. Where the clock skips `wallMs`: the time of the skip. */
  firstShowing(wallMs: number): number {
    const fromMs = wallMs - reachMs;
    const toMs = wallMs + reachMs;
    const early = wallMs - Math.max(this.offsetAt(fromMs), this.offsetAt(toMs));
    const late = wallMs - Math.min(this.offsetAt(fromMs), this.offsetAt(toMs));
    if (early === late || this.wallAt(early) === wallMs) return early;
    return this.wallAt(late) === wallMs ? late : this.changeWithin(fromMs, toMs);
  }

  /** The last time at which the wall clock shows `wallMs`. Where the clock skips `wallMs`: right before the skip. */
  lastShowing(wallMs: number): number {
    const late = wallMs - Math.min(this.offsetAt(wallMs - reachMs), this.offsetAt(wallMs + reachMs));
    if (this.wallAt(late) === wallMs) return late;
    const first = this.firstShowing(wallMs);
    return this.wallAt(first) === wallMs ? first : first - 1;
  }

  /** When the clocks changed within (fromMs, toMs]; the offsets at both ends must differ. */
  changeWithin(fromMs: number, toMs: number): number {
    const before = this.offsetAt(fromMs);
    return bisect(fromMs, toMs, (at) => this.offsetAt(at) !== before);
  }

  #offsetAtEdge(day: number): number {
    const known = this.#edges.get(day);
    if (known !== undefined) return known;
    if (this.#edges.size >= daysMax) {
      this.#edges.clear();
      this.#changes.clear();
    }
    const offset = this.#ask(day);
    this.#edges.set(day, offset);
    return offset;
  }

  #ask(ms: number): number {
    const at = Math.floor(Math.max(ms, earliestMs) / 1000) * 1000;
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      this.#format.format(at).match(/\d+/g) ?? []
    ).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) - at;
  }
}

/** Bisection: the first whole second after `from` at which `holds` is true; it is false at `from` and true at `to`. */
function bisect(from: number, to: number, holds: (at: number) => boolean): number {
  let low = Math.floor(from / 1000);
  let high = Math.ceil(to / 1000);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle * 1000)) high = middle;
    else low = middle;
  }
  return high * 1000;
}
