// Two fingers on a chart: apart and together zoom, sideways moves. One finger scrolls the page, and while something is being
// chosen it draws a span sideways. Called by chart-options.ts.
import type uPlot from 'uplot';

/** Pixels that a finger moves before it draws; less is a press. */
const fingerPixelsMin = 8;

interface Pinch {
  readonly atS: readonly [number, number];
}

interface TouchParts {
  /** Told the span when two fingers leave. */
  readonly onZoom: (fromMs: number, toMs: number) => void;
  /** Told the span that one finger has drawn, while something is being chosen. */
  readonly onSpan: (fromMs: number, toMs: number) => void;
  readonly over: () => { readonly isChoosing: boolean };
}

export function touches({ onZoom, onSpan, over }: TouchParts): uPlot.Plugin {
  let pinch: Pinch | undefined;
  /** Where one finger began to draw, and where it is, in pixels of the plot. */
  let drawn: { readonly begin: number; readonly end: number } | undefined;
  const xOf = (plot: uPlot, { touches }: TouchEvent) => {
    const { left, width } = plot.over.getBoundingClientRect();
    return Math.min(Math.max((touches[0]?.clientX ?? 0) - left, 0), width);
  };
  const draw = (plot: uPlot, event: TouchEvent) => {
    if (drawn === undefined) return;
    const end = xOf(plot, event);
    drawn = { begin: drawn.begin, end };
    if (Math.abs(end - drawn.begin) < fingerPixelsMin) return;
    event.preventDefault();
    const left = Math.min(drawn.begin, end);
    plot.setSelect({ left, width: Math.abs(end - drawn.begin), top: 0, height: plot.over.clientHeight }, false);
  };
  const endDrawing = (plot: uPlot) => {
    if (drawn === undefined) return;
    const [a, b] = [Math.min(drawn.begin, drawn.end), Math.max(drawn.begin, drawn.end)];
    drawn = undefined;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (b - a < fingerPixelsMin) return;
    onSpan(Math.round(plot.posToVal(a, 'x') * 1000), Math.round(plot.posToVal(b, 'x') * 1000));
  };
  /** The browser scrolls the page instead. */
  const cancel = (plot: uPlot) => () => {
    drawn = undefined;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  };
  const sensorRefsOf = (plot: uPlot, { touches }: TouchEvent): [number, number] => {
    const { left } = plot.over.getBoundingClientRect();
    const [a, b] = [(touches[0]?.clientX ?? 0) - left, (touches[1]?.clientX ?? 0) - left];
    return a <= b ? [a, b] : [b, a];
  };
  const start = (plot: uPlot) => (event: TouchEvent) => {
    if (event.touches.length === 1 && over().isChoosing) drawn = { begin: xOf(plot, event), end: xOf(plot, event) };
    if (event.touches.length !== 2) return;
    drawn = undefined;
    const [a, b] = sensorRefsOf(plot, event);
    pinch = { atS: [plot.posToVal(a, 'x'), plot.posToVal(b, 'x')] };
  };
  const move = (plot: uPlot) => (event: TouchEvent) => {
    if (event.touches.length === 1) draw(plot, event);
    if (pinch === undefined || event.touches.length !== 2) return;
    event.preventDefault();
    const [a, b] = sensorRefsOf(plot, event);
    if (b - a < 8) return;
    // The times under the fingers stay under them.
    const secondsPerPixel = (pinch.atS[1] - pinch.atS[0]) / (b - a);
    const min = pinch.atS[0] - a * secondsPerPixel;
    plot.setScale('x', { min, max: min + plot.over.clientWidth * secondsPerPixel });
  };
  const end = (plot: uPlot) => () => {
    endDrawing(plot);
    if (pinch === undefined) return;
    pinch = undefined;
    const { min, max } = plot.scales['x'] ?? {};
    if (min !== undefined && max !== undefined) onZoom(Math.round(min * 1000), Math.round(max * 1000));
  };
  return {
    hooks: {
      ready: (plot) => {
        plot.over.style.touchAction = 'pan-y';
        plot.over.addEventListener('touchstart', start(plot), { passive: true });
        plot.over.addEventListener('touchmove', move(plot), { passive: false });
        plot.over.addEventListener('touchend', end(plot));
        plot.over.addEventListener('touchcancel', cancel(plot));
      },
    },
  };
}
