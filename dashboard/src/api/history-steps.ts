// Into which even steps a span is cut where its datapoints are too many to be drawn, or are to be added up. Days, months
// and years are those of the user’s time zone. Called by history.ts.
import { limits } from '../limits.ts';

export interface HistoryStep {
  /** As the API has it: `12h`, `1d`. */
  readonly text: string;
  /** How long it is; of a month, about. */
  readonly ms: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps: readonly HistoryStep[] = [
  ...[1, 2, 5, 10, 15, 30].map((n) => ({ text: `${n}s`, ms: n * second })),
  ...[1, 2, 5, 10, 15, 30].map((n) => ({ text: `${n}m`, ms: n * minute })),
  ...[1, 2, 3, 6, 12].map((n) => ({ text: `${n}h`, ms: n * hour })),
  ...[1, 2, 7, 14, 30, 90, 365].map((n) => ({ text: `${n}d`, ms: n * day })),
];
const longest = { text: '1000d', ms: 1_000 * day };

/** For means: as fine as a chart shows them; from half a year on, nothing is cut finer than days. */
export function stepForMeans(spanMs: number): HistoryStep {
  const msMin = spanMs >= limits.dayMeansMs ? day : 0;
  return steps.find(({ ms }) => ms >= msMin && spanMs / ms <= limits.chartStepsMax) ?? longest;
}

/** For sums: hours of some days, days, and months where days were too narrow to be seen. */
export function stepForSums(spanMs: number): HistoryStep {
  if (spanMs <= limits.hourSumsMs) return { text: '1h', ms: hour };
  if (spanMs <= limits.daySumsMs) return { text: '1d', ms: day };
  return { text: '1mo', ms: 30 * day };
}

/** The first moment of the step that a moment lies in, so that the first and last sum of a chart are whole. */
export function startOfStep(atMs: number, { text }: HistoryStep): number {
  const at = new Date(atMs);
  if (text === '1h') return at.setMinutes(0, 0, 0);
  if (text === '1mo') at.setDate(1);
  return at.setHours(0, 0, 0, 0);
}

export function endOfStep(atMs: number, step: HistoryStep): number {
  const at = new Date(startOfStep(atMs, step));
  if (step.text === '1h') at.setHours(at.getHours() + 1);
  else if (step.text === '1mo') at.setMonth(at.getMonth() + 1);
  else at.setDate(at.getDate() + 1);
  return at.getTime() - 1;
}

/** The zone of the browser, as the server knows zones. */
export function ownTimeZone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  // What browsers say that do not tell.
  return timeZone === undefined || timeZone === 'Etc/Unknown' ? 'UTC' : timeZone;
}
