// Lines over time, by uPlot: several series with gaps, a min–max band behind a line, a crosshair that reads all of them,
// drag to zoom (told by `onZoom`, double click by `onReset`), colours of the scheme. Times are milliseconds.
// uPlot is loaded with the pages that draw charts; import this file from such a page only.
import { Skeleton } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useEffectEvent, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { listed } from '../../strings/listed.ts';
import { usePageLocale } from '../../strings/strings.ts';
import { absoluteTime } from '../device/age.tsx';
import classes from './chart.module.css';
import { alignSeries, chartOptions } from './chart-options.ts';
import { type ChartLine, type ChartSeries, hasBand } from './chart-series.ts';
import { useColorTokens } from './color-tokens.ts';

export interface Choosing {
  /** A span was drawn, by dragging or with a finger. */
  readonly onSpan: (fromMs: number, toMs: number) => void;
  /** The plot was pressed: the moment of the value that is nearest. */
  readonly onMoment: (atMs: number) => void;
}

export interface ChartProps {
  readonly series: readonly ChartSeries[];
  /** What is shown whatever the data says. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly height?: number;
  /** Level lines, such as thresholds of rules. */
  readonly lines?: readonly ChartLine[];
  /** Moments, such as firings, marked at the foot. */
  readonly marksMs?: readonly number[];
  /** A span that is chosen in it, drawn as such. */
  readonly chosen?: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Where given, something is being chosen instead of zooming, but for two fingers, which still zoom. */
  readonly choosing?: Choosing | undefined;
  /** Moments at which actuators were set, marked there in another colour. */
  readonly settingsMs?: readonly number[];
  readonly onZoom?: (fromMs: number, toMs: number) => void;
  readonly onReset?: (() => void) | undefined;
  /** The plot itself, for what is beyond this wrapper (an image of it). */
  readonly onPlot?: (plot: uPlot) => void;
}

const nothing: readonly never[] = [];

/** A line of the legend, with what is above it. */
const legendHeight = 32;

/** Stands where a chart will, as high as it, so that what is below stays where it is. */
export function ChartSkeleton({ height }: { readonly height: number }) {
  return <Skeleton height={height + legendHeight} radius="md" />;
}

export function Chart(props: ChartProps) {
  const {
    series,
    fromMs,
    toMs,
    height = 280,
    lines = nothing,
    marksMs = nothing,
    settingsMs = nothing,
    chosen,
  } = props;
  const isChoosing = props.choosing !== undefined;
  const { tag, strings } = usePageLocale();
  const { shared } = strings;
  const tokens = useColorTokens();
  const { ref: frame, width } = useElementSize();
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const onZoom = useEffectEvent((from: number, to: number) => props.onZoom?.(from, to));
  const onReset = useEffectEvent(() => props.onReset?.());
  const onPlot = useEffectEvent((made: uPlot) => props.onPlot?.(made));
  const onSpan = useEffectEvent((from: number, to: number) => props.choosing?.onSpan(from, to));
  const onMoment = useEffectEvent((atMs: number) => props.choosing?.onMoment(atMs));
  const over = useEffectEvent(() => ({ lines, marksMs, settingsMs, chosen, isChoosing }));
  const hasWidth = width > 0;
  // The plot is made anew with these only: new datapoints, thresholds and firings go into the one that stands, under a
  // drag that has begun.
  const shape = JSON.stringify(series.map(({ points, ...rest }) => [rest, hasBand(points)]));

  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for the series.
  useEffect(() => {
    if (!hasWidth || host.current === null) return;
    const options = chartOptions({
      ...{ series, over, tokens, tag, onZoom, onReset, onSpan, onMoment },
      timeLabel: shared.time,
      writeTime: (atMs) => absoluteTime(atMs, tag, strings),
      ...{ width: host.current.clientWidth, height },
    });
    const made = new uPlot(options, alignSeries(series), host.current);
    plot.current = made;
    onPlot(made);
    return () => {
      made.destroy();
      plot.current = undefined;
    };
  }, [hasWidth, shape, tokens, tag, strings, height]);

  useEffect(() => plot.current?.setSize({ width, height }), [width, height]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a plot made anew needs its span and data once more.
  useEffect(() => {
    plot.current?.setData(alignSeries(series), fromMs === undefined || toMs === undefined);
    if (fromMs !== undefined && toMs !== undefined) {
      plot.current?.setScale('x', { min: fromMs / 1000, max: toMs / 1000 });
    }
  }, [series, fromMs, toMs, hasWidth, shape, tokens, tag, height]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what is drawn over the plot has changed, by what it says.
  useEffect(() => plot.current?.redraw(false, true), [JSON.stringify([lines, marksMs, settingsMs, chosen])]);

  return (
    <div
      ref={frame}
      className={classes.frame}
      data-choosing={isChoosing || undefined}
      style={{ minHeight: height + legendHeight }}
    >
      <div ref={host} role="img" aria-label={shared.chart(listed(series.map(({ label }) => label)))} />
    </div>
  );
}
