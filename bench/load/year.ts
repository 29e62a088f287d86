// The series section's data: a value a minute of each sensor, as arrays of at most 30 000 for us and as rows for the
// baseline, which makes them once more in a process of its own; and what is asked of them.
import { Dice, Walk } from './dice.ts';

export const yearSensors = 95;
export const minutesMax = 525_600;
/** Datapoints of one array. */
export const arrayDatapoints = 30_000;
/** Before anything that is measured now. */
export const yearStartMs = Date.UTC(2025, 0, 1);
export const minuteMs = 60_000;
const dayMinutes = 1_440;

/** Values of each sensor, in order; each is made once. */
export class Year {
  readonly #startMs: number;
  readonly #walks = Array.from({ length: yearSensors }, (_, sensor) => new Walk(sensor));

  /** It begins with a day (UTC). */
  constructor(startMs = yearStartMs) {
    this.#startMs = startMs;
  }

  next(sensor: number): number {
    return (this.#walks[sensor] as Walk).next();
  }

  /** The next values of a sensor as the body of a push. */
  body(sensor: number, span: Span): Buffer {
    const items: string[] = [];
    let date = '';
    for (let minute = span.from; minute < span.to; minute++) {
      const ofDay = minute % dayMinutes;
      if (date === '' || ofDay === 0) date = dateOf(this.#startMs + minute * minuteMs);
      items.push(`{"value":${this.next(sensor)},"timestamp":"${date}${times[ofDay]}"}`);
    }
    return Buffer.from(`[${items.join(',\n')}]`, 'latin1');
  }
}

/** Minutes since the start, without `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The spans of all arrays that one sensor gets. */
export function spansOf(minutes: number): Span[] {
  const count = Math.ceil(minutes / arrayDatapoints);
  return Array.from({ length: count }, (_, n) => ({
    from: n * arrayDatapoints,
    to: Math.min(minutes, (n + 1) * arrayDatapoints),
  }));
}

const times = Array.from({ length: dayMinutes }, (_, minute) =>
  new Date(minute * minuteMs).toISOString().slice(10).replace('.000', ''),
);

function dateOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** Something that is asked of one sensor, of us and of the baseline. */
export interface Question {
  readonly name: string;
  /** What must stay under `msMax`: nearly every answer, or the median of them. */
  readonly percentile: 50 | 99;
  readonly msMax: number;
  /** Minutes that are asked for: all there are, or a window of so many somewhere among them. */
  readonly minutes?: number;
  /** The query for us, the times left out. */
  readonly query: string;
  /** The path at the baseline. */
  readonly path: string;
}

export const questions: readonly Question[] = [
  { name: 'the last value', percentile: 99, msMax: 3, query: 'lastN=1', path: 'last' },
  { name: '7 days raw', percentile: 99, msMax: 15, minutes: 7 * dayMinutes, query: 'limit=30000', path: 'range' },
  { name: 'a year in 1 000 points', percentile: 50, msMax: 40, query: 'points=1000', path: 'points' },
  { name: 'a year by day', percentile: 50, msMax: 40, query: 'bucket=1d&aggregate=min,max,avg', path: 'days' },
];

/** Which sensor, and from when to when in milliseconds since 1970: another one each time. */
export class Targets {
  readonly #dice = new Dice(1);
  readonly #minutes: number;

  constructor(minutes: number) {
    this.#minutes = minutes;
  }

  next(question: Question): { readonly sensor: number; readonly fromMs: number; readonly toMs: number } {
    const length = Math.min(question.minutes ?? this.#minutes, this.#minutes);
    const from = this.#dice.below(this.#minutes - length + 1);
    const fromMs = yearStartMs + from * minuteMs;
    return { sensor: this.#dice.below(yearSensors), fromMs, toMs: fromMs + (length - 1) * minuteMs };
  }
}
