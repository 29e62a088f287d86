// How a chart of ours looks and behaves, in the words of uPlot; and series of different times put on one axis for it.
// Called by chart.tsx.
import uPlot from 'uplot';
import { isolated } from '../../strings/isolated.ts';
import { formatNumber, isLongUnit } from '../device/value.tsx';
import { type ChartLine, type ChartSeries, hasBand } from './chart-series.ts';
import { touches } from './chart-touch.ts';
import type { ColorTokens } from './color-tokens.ts';

interface ChartParts {
  readonly series: readonly ChartSeries[];
  /** Level lines and marked moments as they are when it is drawn. */
  readonly over: () => {
    readonly lines: readonly ChartLine[];
    readonly marksMs: readonly number[];
    readonly chosen: { readonly fromMs: number; readonly toMs: number } | undefined;
    readonly isChoosing: boolean;
    readonly settingsMs: readonly number[];
  };
  readonly tokens: ColorTokens;
  readonly tag: string;
  readonly timeLabel: string;
  /** Writes a moment: local time, UTC behind it. */
  readonly writeTime: (atMs: number) => string;
  readonly width: number;
  readonly height: number;
  readonly onZoom: (fromMs: number, toMs: number) => void;
  readonly onReset: () => void;
  /** Called instead of `onZoom` while something is being chosen, but for two fingers. */
  readonly onSpan: (fromMs: number, toMs: number) => void;
  readonly onMoment: (atMs: number) => void;
}

/** Pixels between two labels of the axis of time at least: half of one that names its year, half of one that does not, and a gap. */
const labelSpace = 76;

const axisFont = '12px system-ui, sans-serif';

export function chartOptions(parts: ChartParts): uPlot.Options {
  const { series, tokens, tag, width, height } = parts;
  const units = [...new Set(series.map(({ unit = '' }) => unit))];
  return {
    width,
    height,
    // The last tick's words stand half beside the plot.
    padding: [12, 24, 0, 0],
    legend: { live: true, markers: { width: 0, fill: (plot, at) => colourOf(plot, at) } },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      bind: { dblclick: () => reset(parts) },
      points: { size: 8 },
      dataIdx: nearest,
    },
    scales: { x: { time: true }, ...Object.fromEntries(units.map((unit) => [scaleOf(unit), scaleFor(unit, series)])) },
    axes: [
      {
        stroke: tokens.quiet,
        grid: { show: false },
        ticks: { stroke: tokens.line, width: 1 },
        space: labelSpace,
        values: timeLabels(tag),
      },
      ...units.map((unit, index) => valueAxis(unit, { index, tokens, tag })),
    ],
    series: [
      { label: parts.timeLabel, value: (_plot, seconds) => (seconds === null ? '' : parts.writeTime(seconds * 1000)) },
      ...series.flatMap((one, at) => linesOf(one, at, parts)),
    ],
    plugins: [touches(parts), presses(parts)],
    bands: bandsOf(series, tokens),
    hooks: { setSelect: [(plot) => zoom(plot, parts)], draw: [(plot) => drawOver(plot, parts), sayDrawn] },
  };
}

/** A press on the plot tells the time of what is nearest to it. */
function presses({ over, onMoment }: ChartParts): uPlot.Plugin {
  return {
    hooks: {
      ready: (plot) =>
        plot.over.addEventListener('click', ({ clientX }) => {
          if (!over().isChoosing) return;
          const index = plot.posToIdx(clientX - plot.over.getBoundingClientRect().left);
          const seconds = plot.data[0][nearestNumber(plot, index)];
          if (seconds !== undefined) onMoment(Math.round(seconds * 1000));
        }),
    },
  };
}

/** The place of the number of the first line that is nearest to a place; gaps and values that are no numbers are none. */
function nearestNumber(plot: uPlot, index: number): number {
  const [times, values = []] = plot.data;
  const distance = (at: number) => Math.abs((times[at] ?? Number.POSITIVE_INFINITY) - (times[index] ?? 0));
  let [left, right] = [index, index];
  while (left >= 0 && values[left] == null) left -= 1;
  while (right < values.length && values[right] == null) right += 1;
  return distance(left) <= distance(right) ? left : right;
}

function colourOf(plot: uPlot, at: number): string {
  const { stroke } = plot.series[at] ?? {};
  return String(typeof stroke === 'function' ? stroke(plot, at) : (stroke ?? 'transparent'));
}

function scaleOf(unit: string): string {
  return `y:${unit}`;
}

/** Bars stand on zero. */
function scaleFor(unit: string, series: readonly ChartSeries[]): uPlot.Scale {
  if (!series.some((one) => one.isBars === true && (one.unit ?? '') === unit)) return {};
  return {
    range: (_plot, low, high) => {
      const [min, max] = [Math.min(0, low ?? 0), Math.max(0, high ?? 0)];
      return min === max ? [0, 1] : [min * 1.1, max * 1.1];
    },
  };
}

function valueAxis(
  unit: string,
  { index, tokens, tag }: { readonly index: number; readonly tokens: ColorTokens; readonly tag: string },
): uPlot.Axis {
  // A word stands beside the axis once, a sign behind each number.
  const isLong = isLongUnit(unit);
  const behind = unit === '' || isLong ? '' : ` ${unit}`;
  return {
    scale: scaleOf(unit),
    side: index % 2 === 0 ? 3 : 1,
    size: widthOfLabels,
    ...(isLong ? { label: unit, labelSize: 22, labelFont: axisFont } : {}),
    stroke: tokens.quiet,
    grid: index === 0 ? { stroke: tokens.line, width: 1 } : { show: false },
    ticks: { show: false },
    values: (_plot, splits) => splits.map((split) => `${formatNumber(split, tag)}${behind}`),
  };
}

/** As wide as its widest label asks for; at least so wide that charts one above the other mostly begin alike. */
function widthOfLabels(plot: uPlot, labels: readonly string[] | null, index: number, cycle: number): number {
  const axis = plot.axes[index] as uPlot.Axis & { _size: number };
  // What it found is kept from the second try on, or both would go to and fro.
  if (cycle > 1) return axis._size;
  plot.ctx.font = (axis.font as unknown as readonly [string])[0];
  const widths = (labels ?? []).map((label) => plot.ctx.measureText(label).width / devicePixelRatio);
  return Math.ceil(Math.max(60, (axis.gap ?? 0) + 8 + Math.max(0, ...widths)));
}

/** A line, and where it has a band, its upper and lower edge after it. */
function linesOf(one: ChartSeries, place: number, { tokens, tag }: ChartParts): uPlot.Series[] {
  const stroke = tokens.series[(one.colour ?? place + 1) - 1] ?? tokens.quiet;
  const unit = one.unit ?? '';
  const bars = one.isBars === true ? uPlot.paths.bars?.({ size: [0.8, 48, 1] }) : undefined;
  const line: uPlot.Series = {
    label: one.label,
    scale: scaleOf(unit),
    stroke,
    width: 1.75,
    spanGaps: false,
    ...(one.isDashed === true ? { dash: [6, 4] } : {}),
    ...(bars === undefined
      ? { points: { size: 4, filter: alone } }
      : { paths: bars, fill: `${stroke}b0`, width: 1, points: { show: false } }),
    value: (_plot, value, _at, index) => {
      // Nothing is pointed at.
      if (index === null) return '';
      return value === null ? '–' : `${formatNumber(value, tag, one.decimals)} ${unit}`.trim();
    },
  };
  if (!hasBand(one.points)) return [line];
  const edge: uPlot.Series = {
    scale: scaleOf(unit),
    stroke: 'transparent',
    width: 0,
    points: { show: false },
    class: 'd-edge',
  };
  return [line, { ...edge, label: 'max' }, { ...edge, label: 'min' }];
}

/**
 * Where points are too dense to be marked, those between two gaps that no line shows are: alone, or so close together that
 * a line through them is a dot, as the first values of a sensor are on an axis of a day.
 */
function alone(plot: uPlot, series: number, isShown: boolean): number[] | null {
  const found: number[] = [];
  let [first, last] = [-1, -1];
  const end = () => {
    if (first >= 0 && widthOf(plot, first, last) < lineWidthMin) found.push(last);
    first = -1;
  };
  for (const [index, value] of (plot.data[series] ?? []).entries()) {
    // A time that only other lines have is passed over.
    if (value === undefined) continue;
    if (value === null) end();
    else [first, last] = [first < 0 ? index : first, index];
  }
  end();
  return isShown || found.length === 0 ? null : found;
}

/** Pixels from which a line is seen. */
const lineWidthMin = 2;

function widthOf(plot: uPlot, first: number, last: number): number {
  const at = (index: number) => plot.valToPos(plot.data[0][index] ?? 0, 'x');
  return first === last ? 0 : at(last) - at(first);
}

function bandsOf(series: readonly ChartSeries[], tokens: ColorTokens): uPlot.Band[] {
  const bands: uPlot.Band[] = [];
  let at = 1;
  for (const [place, one] of series.entries()) {
    if (!hasBand(one.points)) {
      at += 1;
      continue;
    }
    const stroke = tokens.series[(one.colour ?? place + 1) - 1] ?? tokens.quiet;
    bands.push({ series: [at + 1, at + 2], fill: `${stroke}40` });
    at += 3;
  }
  return bands;
}

/** The columns uPlot takes: all times of all series, and for each its values there; where it has none, nothing. */
export function alignSeries(series: readonly ChartSeries[]): uPlot.AlignedData {
  const tables = series.map((one): uPlot.AlignedData => {
    const times = one.points.map(({ atMs }) => atMs / 1000);
    const values = one.points.map(({ value }) => value);
    if (!hasBand(one.points)) return [times, values];
    return [times, values, one.points.map(({ max = null }) => max), one.points.map(({ min = null }) => min)];
  });
  if (tables.length === 0) return [[]];
  if (tables.length === 1) return tables[0] as uPlot.AlignedData;
  // A null of a series is a gap; a time that only others have is none.
  return uPlot.join(
    tables,
    tables.map((table) => table.map(() => 1)),
  );
}

/** Lines have times of their own: the crosshair reads of each the value that is nearest. */
function nearest(plot: uPlot, series: number, index: number): number {
  const values = plot.data[series];
  if (values === undefined || series === 0 || values[index] != null) return index;
  const times = plot.data[0];
  const distance = (at: number) => Math.abs((times[at] ?? Number.POSITIVE_INFINITY) - (times[index] ?? 0));
  let [left, right] = [index, index];
  while (left >= 0 && values[left] === undefined) left -= 1;
  while (right < values.length && values[right] === undefined) right += 1;
  const [hasLeft, hasRight] = [values[left] != null, values[right] != null];
  if (hasLeft && (!hasRight || distance(left) <= distance(right))) return left;
  return hasRight ? right : index;
}

function reset({ onReset }: ChartParts) {
  return () => {
    onReset();
    return null;
  };
}

function zoom(plot: uPlot, { over, onSpan, onZoom }: ChartParts): void {
  const { left, width } = plot.select;
  if (width < 4) return;
  const tell = over().isChoosing ? onSpan : onZoom;
  tell(Math.round(plot.posToVal(left, 'x') * 1000), Math.round(plot.posToVal(left + width, 'x') * 1000));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/** The element says what it shows of how much, for who waits until it is drawn and for who cannot see the picture. */
function sayDrawn({ root, data, scales, axes, series }: uPlot): void {
  const { min = 0, max = 0 } = scales['x'] ?? {};
  const ticks = (axes[0] as uPlot.Axis & { readonly _values?: readonly string[] })._values ?? [];
  root.dataset['drawn'] = String(data[0].length);
  root.dataset['span'] = `${new Date((min ?? 0) * 1000).toISOString()}/${new Date((max ?? 0) * 1000).toISOString()}`;
  const first = scales[series[1]?.scale ?? ''];
  root.dataset['values'] = `${first?.min ?? ''}/${first?.max ?? ''}`;
  root.dataset['gaps'] = String((data[1] ?? []).filter((value) => value === null).length);
  root.dataset['ticks'] = ticks.join('|');
}

function drawOver(plot: uPlot, { series, over, tokens }: ChartParts): void {
  const { ctx, bbox } = plot;
  const { lines, marksMs, settingsMs, chosen } = over();
  if (chosen !== undefined) drawChosen(plot, chosen, tokens);
  const scale = scaleOf(series[0]?.unit ?? '');
  ctx.save();
  ctx.strokeStyle = tokens.bad;
  ctx.fillStyle = tokens.bad;
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  // Axes leave their own way of aligning behind.
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const { value, label } of lines) {
    const y = plot.valToPos(value, scale, true);
    if (y < bbox.top || y > bbox.top + bbox.height) continue;
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    writeOver(ctx, label, { x: bbox.left + 4 * devicePixelRatio, y: y - 4 * devicePixelRatio, ground: tokens.ground });
  }
  drawMarks(plot, settingsMs, tokens.quiet);
  drawMarks(plot, marksMs, tokens.bad);
  ctx.restore();
}

/** Triangles at the foot. */
function drawMarks(plot: uPlot, marksMs: readonly number[], color: string): void {
  const { ctx, bbox } = plot;
  const size = 5 * devicePixelRatio;
  const foot = bbox.top + bbox.height;
  ctx.fillStyle = color;
  for (const atMs of marksMs) {
    const x = plot.valToPos(atMs / 1000, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, foot - size * 1.6);
    ctx.lineTo(x + size, foot);
    ctx.lineTo(x - size, foot);
    ctx.fill();
  }
}

/** A span as a tint of the accent between two edges; a moment as an edge alone. */
function drawChosen(
  plot: uPlot,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  { accent }: ColorTokens,
): void {
  const { ctx, bbox } = plot;
  const xOf = (ms: number) =>
    Math.min(Math.max(plot.valToPos(ms / 1000, 'x', true), bbox.left), bbox.left + bbox.width);
  const [from, to] = [xOf(fromMs), xOf(toMs)];
  const edge = 2 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = accent;
  ctx.fillRect(from - edge / 2, bbox.top, edge, bbox.height);
  ctx.fillRect(to - edge / 2, bbox.top, edge, bbox.height);
  ctx.globalAlpha = 0.15;
  ctx.fillRect(from, bbox.top, to - from, bbox.height);
  ctx.restore();
}

interface WordsPlace {
  readonly x: number;
  readonly y: number;
  readonly ground: string;
}

/** Words over lines, with the ground around them, so that they can be read. */
function writeOver(ctx: CanvasRenderingContext2D, text: string, { x, y, ground }: WordsPlace): void {
  ctx.save();
  ctx.setLineDash([]);
  ctx.lineJoin = 'round';
  ctx.lineWidth = 4 * devicePixelRatio;
  ctx.strokeStyle = ground;
  ctx.strokeText(text, x, y);
  ctx.restore();
  ctx.fillText(text, x, y);
}

/** Labels of the axis of time, as wide apart as the steps between them ask for; the year where it begins to be another. */
function timeLabels(tag: string) {
  return (_plot: uPlot, splits: number[], _axis: number, _space: number, stepS: number): string[] => {
    let [dayBefore, yearBefore] = ['', ''];
    return splits.map((seconds) => {
      const at = new Date(seconds * 1000);
      const year = String(at.getFullYear());
      const isOtherYear = year !== yearBefore;
      yearBefore = year;
      if (stepS >= 28 * 86_400) {
        const month = isolated(at.toLocaleDateString(tag, { month: 'short' }));
        return isOtherYear ? `${month}\n${year}` : month;
      }
      const day = at.toLocaleDateString(tag, { day: 'numeric', month: 'short' });
      if (stepS >= 86_400) return isOtherYear ? `${isolated(day)}\n${year}` : isolated(day);
      const withSeconds = stepS < 60 ? ({ second: '2-digit' } as const) : {};
      const time = isolated(at.toLocaleTimeString(tag, { hour: '2-digit', minute: '2-digit', ...withSeconds }));
      const label = day === dayBefore ? time : `${time}\n${isolated(isOtherYear ? `${day} ${year}` : day)}`;
      dayBefore = day;
      return label;
    });
  };
}
