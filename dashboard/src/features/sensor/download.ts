// What is shown, as files: the lines of the chart as CSV, its picture as PNG; and every datapoint of the span from the
// server.
import type uPlot from 'uplot';
import { ApiProblem } from '../../api/api-problem.ts';
import { type Datapoint, fetchWithToken } from '../../api/client.ts';
import { timeOfPoint } from '../../api/devices.ts';
import { type ChartSeries, hasBand } from '../../shared/chart/chart-series.ts';
import type { ColorTokens } from '../../shared/chart/color-tokens.ts';
import type { Span } from '../../shared/chart/span.ts';
import { inOneRhythm } from './one-rhythm.ts';

export interface ShownLine extends Pick<ChartSeries, 'label' | 'unit' | 'points' | 'isBars' | 'decimals'> {
  /** Values that are no numbers and that are not among the points. */
  readonly others?: readonly Datapoint[];
  /** Where its points are means or sums of steps, how long those are. */
  readonly stepMs?: number | undefined;
}

/** What a column of steps is called behind the name of its line. */
export interface StepWords {
  readonly mean: (stepMs: number) => string;
  readonly lowest: (stepMs: number) => string;
  readonly highest: (stepMs: number) => string;
  readonly sum: (stepMs: number) => string;
}

/**
 * A row a time, UTC; a column a line, and where it has a band, its lowest and highest. Of one line, each further value of
 * the same time has a row more; of several, the last one of each time stands. Values that are no numbers are written as
 * the server writes them. A head says of what steps its values are means or sums.
 */
export function csvOf(
  shown: readonly ShownLine[],
  span: { readonly fromMs?: number; readonly toMs?: number },
  words: StepWords,
): string {
  const isCompared = shown.length > 1;
  const lines = isCompared ? inOneRhythm(shown) : shown;
  const columns = lines.flatMap((line) => columnsOf(line, words));
  const rows = new Map<number, string[][]>();
  let at = 0;
  for (const line of lines) {
    const { points, others = [] } = line;
    const isBand = hasBand(points);
    const counts = new Map<number, number>();
    const put = (atMs: number, values: readonly unknown[]) => {
      if (atMs < (span.fromMs ?? -Infinity) || atMs > (span.toMs ?? Infinity)) return;
      const place = isCompared ? 0 : (counts.get(atMs) ?? 0);
      counts.set(atMs, place + 1);
      const same = rows.get(atMs) ?? [];
      rows.set(atMs, same);
      same[place] ??= Array.from({ length: columns.length }, () => '');
      for (const [index, value] of values.entries()) (same[place] as string[])[at + index] = cellOf(value);
    };
    for (const { atMs, value, min, max, ...rest } of points) {
      if (value !== null) put(atMs, isBand ? [writtenOf(value, line), min, max] : [writtenOf(value, line)]);
      else if ('other' in rest) put(atMs, [rest.other]);
    }
    for (const point of others) put(timeOfPoint(point), [point.value]);
    at += isBand ? 3 : 1;
  }
  const written = [...rows]
    .sort(([a], [b]) => a - b)
    .flatMap(([atMs, same]) => same.map((row) => [new Date(atMs).toISOString(), ...row].join(',')));
  return [['timestamp', ...columns].map(quoted).join(','), ...written, ''].join('\r\n');
}

/** A mean or a sum has as many digits as the chart shows of it, without those that calculating leaves; what was measured has all. */
function writtenOf(value: number, { points, isBars = false, stepMs, decimals }: ShownLine): number {
  if (stepMs === undefined || decimals === undefined) return value;
  // Means have one digit more than what was measured; of a band, that one is among the decimals.
  return Number(value.toFixed(Math.min(100, decimals + (isBars || hasBand(points) ? 0 : 1))));
}

function columnsOf({ label, unit = '', points, isBars = false, stepMs = 0 }: ShownLine, words: StepWords): string[] {
  const name = unit === '' ? label : `${label} (${unit})`;
  if (stepMs === 0) return [name];
  if (isBars) return [`${name} (${words.sum(stepMs)})`];
  const mean = `${name} (${words.mean(stepMs)})`;
  return hasBand(points) ? [mean, `${name} (${words.lowest(stepMs)})`, `${name} (${words.highest(stepMs)})`] : [mean];
}

/** As the CSV of the API: texts and booleans bare, null empty, what is compound as JSON. */
function cellOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return quoted(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** A name or a text is a stranger's word: quoted, and never a formula of a spreadsheet. Numbers stay numbers. */
function quoted(text: string): string {
  const isFormula =
    /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text);
  const harmless = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** Every datapoint of the span, by the server. */
export async function readAllAsCsv(
  { device, sensor }: { readonly device: string; readonly sensor: string },
  { fromMs, toMs }: Span,
): Promise<Blob> {
  const path = `/api/v2/devices/${encodeURIComponent(device)}/sensors/${encodeURIComponent(sensor)}/values`;
  const url = new URL(path, window.location.origin);
  url.searchParams.set('format', 'csv');
  url.searchParams.set('csv', 'spreadsheet');
  if (fromMs !== undefined) url.searchParams.set('dateFrom', new Date(fromMs).toISOString());
  if (toMs !== undefined) url.searchParams.set('dateTo', new Date(toMs).toISOString());
  const answer = await fetchWithToken(new Request(url, { headers: { accept: 'text/csv' } }));
  if (!answer.ok) throw await ApiProblem.of(answer);
  return answer.blob();
}

/** The chart as it stands, on its ground, with the names of its lines above. */
export function pictureOf(plot: uPlot, series: readonly ChartSeries[], tokens: ColorTokens): Promise<Blob | null> {
  const source = plot.ctx.canvas;
  const ratio = devicePixelRatio;
  const head = 40 * ratio;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [source.width, source.height + head];
  const context = canvas.getContext('2d');
  if (context === null) return Promise.resolve(null);
  context.fillStyle = tokens.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(source, 0, head);
  context.font = `600 ${14 * ratio}px system-ui, sans-serif`;
  context.textBaseline = 'middle';
  let left = 16 * ratio;
  for (const [index, { label, unit = '' }] of series.entries()) {
    context.fillStyle = tokens.series[index] ?? tokens.text;
    context.fillRect(left, head / 2 - ratio, 14 * ratio, 3 * ratio);
    context.fillStyle = tokens.text;
    const text = unit === '' ? label : `${label} (${unit})`;
    context.fillText(text, left + 20 * ratio, head / 2);
    left += context.measureText(text).width + 44 * ratio;
  }
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}
