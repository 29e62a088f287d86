// Converts wall-clock times of a time zone to UTC, also on days of 23 and 25 hours: a time that was skipped is refused;
// of two equal ones the second is chosen once the first has passed. Called by line-reader.ts.
import { Refusal } from '../../base/refusal.ts';
import type { TimeZone } from '../../base/time/time-zone.ts';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { ParsedTime } from './time-format.ts';

/** More than any zone's distance from UTC, on both sides of a change. */
const reachMs = 26 * 3_600_000;
const earliestMs = -62_167_219_200_000;
const latestMs = 253_402_300_799_999;

export class LocalTimes {
  readonly #zone: TimeZone;
  readonly #name: string;
  /** By series: its last time. */
  readonly #last = new Map<string, number>();
  #chars = 0;
  /** The last time of the file's previous part, for series without one of their own. */
  readonly #afterMs: number;
  #newestMs = Number.NaN;

  /** @param options `afterMs`: the last time of the previous part of the file. */
  constructor(zone: TimeZone, options: { readonly name: string; readonly afterMs: number | undefined }) {
    this.#zone = zone;
    this.#name = options.name;
    this.#afterMs = options.afterMs ?? Number.NaN;
  }

  /** The last time that was read; undefined before the first. */
  get lastMs(): number | undefined {
    return Number.isNaN(this.#newestMs) ? undefined : this.#newestMs;
  }

  /**
   * Milliseconds since 1970 UTC.
   * @param series a device or sensor, whose times ascend.
   * @throws Refusal `malformed` for a time that the clock skipped.
   */
  toUtc({ wallMs, offsetMs }: ParsedTime, series: string): number {
    const utcMs = offsetMs === undefined ? this.#fromWall(wallMs, series) : wallMs - offsetMs;
    if (!(utcMs >= earliestMs && utcMs <= latestMs)) {
      throw new Refusal('malformed', 'The time is none between the years 0 and 9999.', { said: { code: 'year' } });
    }
    this.#keep(series, utcMs);
    this.#newestMs = utcMs;
    return utcMs;
  }

  #keep(series: string, utcMs: number): void {
    if (!this.#last.has(series)) {
      const { importTimesKeptMax, importTimesKeptCharsMax } = limits;
      if (this.#last.size >= importTimesKeptMax || this.#chars + series.length > importTimesKeptCharsMax) {
        this.#last.clear();
        this.#chars = 0;
      }
      this.#chars += series.length;
    }
    this.#last.set(series, utcMs);
  }

  #fromWall(wallMs: number, series: string): number {
    const before = this.#zone.offsetAt(wallMs - reachMs);
    const after = this.#zone.offsetAt(wallMs + reachMs);
    if (before === after) return wallMs - before;
    const shown = [wallMs - Math.max(before, after), wallMs - Math.min(before, after)].filter(
      (ms) => this.#zone.wallAt(ms) === wallMs,
    );
    const [first, second] = shown;
    if (first === undefined) {
      const clock = formatTimestamp(wallMs).replace('T', ' ').replace('Z', '');
      const said = { code: 'clock-skipped', params: { zone: this.#name, time: clock } };
      throw new Refusal('malformed', `Clocks in ${this.#name} never showed ${clock}: they went ahead then.`, { said });
    }
    const last = this.#last.get(series) ?? this.#afterMs;
    return second !== undefined && last >= first ? second : first;
  }
}
