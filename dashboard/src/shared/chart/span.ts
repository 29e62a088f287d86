// The span of time a chart shows, as it stands in an address: a preset that ends now (`?span=7d`), or two times
// (`?from=…&to=…`) after zooming. Without either, the shortest preset that holds the last value. What is dated in the
// future is in no preset.
import { limits } from '../../limits.ts';

export const presets = ['1h', '24h', '7d', '30d', '1y', 'all'] as const;
export type Preset = (typeof presets)[number];

export interface SpanSearch {
  readonly span?: Preset | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface Span {
  /** Undefined after zooming. */
  readonly preset: Preset | undefined;
  /** Undefined: from the first datapoint. */
  readonly fromMs: number | undefined;
  /** Of a preset a little later than now, because clocks differ. */
  readonly toMs: number;
}

const hourMs = 3_600_000;
const lengthsMs = { '1h': hourMs, '24h': 24 * hourMs, '7d': 168 * hourMs, '30d': 720 * hourMs, '1y': 8_760 * hourMs };

export function parseSpan(raw: Record<string, unknown>): SpanSearch {
  const [from, to] = [timeOf(raw['from']), timeOf(raw['to'])];
  const isZoomed = from !== undefined && to !== undefined && Date.parse(from) < Date.parse(to);
  return {
    span: presets.find((known) => known === raw['span']),
    from: isZoomed ? from : undefined,
    to: isZoomed ? to : undefined,
  };
}

/** `lastMs` is when the newest value of what is shown was heard. */
export function spanOf(search: SpanSearch, { nowMs, lastMs }: { nowMs: number; lastMs: number | undefined }): Span {
  const { from, to } = search;
  if (from !== undefined && to !== undefined) {
    return { preset: undefined, fromMs: Date.parse(from), toMs: Date.parse(to) };
  }
  const preset = search.span ?? presetFor(nowMs, lastMs);
  // Rounded, so that the same question is asked for a while.
  const stepMs = preset === 'all' ? limits.spanEndStepMs : Math.max(10_000, lengthsMs[preset] / 1_440);
  const endStepMs = Math.min(stepMs, limits.spanEndStepMs);
  const toMs = Math.ceil(nowMs / endStepMs) * endStepMs + limits.futureMsMin;
  const fromMs = preset === 'all' ? undefined : Math.floor(nowMs / stepMs) * stepMs - lengthsMs[preset];
  return { preset, fromMs, toMs };
}

/** Where a chart of the span ends: now, or with a last value that is dated a little later. */
function endOf({ preset, toMs }: Span, { nowMs, lastMs = 0 }: { nowMs: number; lastMs: number | undefined }) {
  if (preset === undefined) return toMs;
  return lastMs - nowMs > limits.futureMsMin ? nowMs : Math.max(nowMs, lastMs);
}

/**
 * What a chart shows from when to when. Of a span that begins with its first datapoint, or that nobody has chosen, and
 * holds datapoints of one moment only, the day of that moment: an axis of nothing, or of a year, says nothing of it.
 */
export function shownSpan(
  span: Span,
  { search, nowMs, points }: { search: SpanSearch; nowMs: number; points: readonly { readonly atMs: number }[] },
): { readonly fromMs: number | undefined; readonly toMs: number } {
  const [firstMs, lastMs] = [points[0]?.atMs, points.at(-1)?.atMs];
  const isOpen = span.preset === 'all' || (span.preset !== undefined && search.span === undefined);
  if (isOpen && firstMs !== undefined && firstMs === lastMs) {
    const day = new Date(firstMs);
    const next = new Date(firstMs);
    next.setDate(next.getDate() + 1);
    return { fromMs: day.setHours(0, 0, 0, 0), toMs: next.setHours(0, 0, 0, 0) };
  }
  return { fromMs: span.fromMs ?? firstMs, toMs: endOf(span, { nowMs, lastMs }) };
}

/** As long a span, before or after. */
export function moveSpan({ fromMs, toMs }: { readonly fromMs: number; readonly toMs: number }, by: -1 | 1): SpanSearch {
  const lengthMs = toMs - fromMs;
  return zoomTo(fromMs + by * lengthMs, toMs + by * lengthMs);
}

function presetFor(nowMs: number, lastMs: number | undefined): Preset {
  if (lastMs === undefined) return '24h';
  const fits = presets.slice(1).find((one) => one === 'all' || nowMs - lastMs < lengthsMs[one] * 0.8);
  return fits ?? 'all';
}

export function zoomTo(fromMs: number, toMs: number): SpanSearch {
  return { span: undefined, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() };
}

function timeOf(raw: unknown): string | undefined {
  return typeof raw === 'string' && !Number.isNaN(Date.parse(raw)) ? raw : undefined;
}
