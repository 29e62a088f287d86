// What is shown, as files: the lines of the chart as CSV, its picture as PNG; and every datapoint of the span from the
// server.
import type uPlot from 'uplot';
import { ApiProblem } from '../../api/api-problem.ts';
import { fetchWithToken } from '../../api/client.ts';
import { type ChartSeries, hasBand } from '../../shared/chart/chart-series.ts';
import type { ColorTokens } from '../../shared/chart/color-tokens.ts';
import type { Span } from '../../shared/chart/span.ts';

/** A row a time, UTC; a column a line, and where it has a band, its lowest and highest. */
export function csvOf(
  series: readonly ChartSeries[],
  span: { readonly fromMs?: number; readonly toMs?: number },
): string {
  const columns = series.flatMap(({ label, unit = '', points }) => {
    const name = unit === '' ? label : `${label} (${unit})`;
    return hasBand(points) ? [`${name} mean`, `${name} min`, `${name} max`] : [name];
  });
  const rows = new Map<number, string[]>();
  let at = 0;
  for (const { points } of series) {
    const isBand = hasBand(points);
    for (const { atMs, value, min, max } of points) {
      if (value === null || atMs < (span.fromMs ?? -Infinity) || atMs > (span.toMs ?? Infinity)) continue;
      const row = rows.get(atMs) ?? Array.from({ length: columns.length }, () => '');
      for (const [place, one] of (isBand ? [value, min, max] : [value]).entries()) row[at + place] = String(one ?? '');
      rows.set(atMs, row);
    }
    at += isBand ? 3 : 1;
  }
  const lines = [...rows]
    .sort(([a], [b]) => a - b)
    .map(([atMs, row]) => [new Date(atMs).toISOString(), ...row].join(','));
  return [['timestamp', ...columns].map(quoted).join(','), ...lines, ''].join('\r\n');
}

/** A name is a stranger's word: quoted, and never a formula of a spreadsheet. */
function quoted(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
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

export function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // The browser has the content by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
