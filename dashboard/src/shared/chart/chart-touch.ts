// Two fingers on a chart: apart and together zoom, sideways moves. One finger scrolls the page. Called by chart.tsx.
import type uPlot from 'uplot';

interface Pinch {
  readonly atS: readonly [number, number];
}

/** `onZoom` is told the span when the fingers leave. */
export function touchZoom(onZoom: (fromMs: number, toMs: number) => void): uPlot.Plugin {
  let pinch: Pinch | undefined;
  const sensorRefsOf = (plot: uPlot, { touches }: TouchEvent): [number, number] => {
    const { left } = plot.over.getBoundingClientRect();
    const [a, b] = [(touches[0]?.clientX ?? 0) - left, (touches[1]?.clientX ?? 0) - left];
    return a <= b ? [a, b] : [b, a];
  };
  const start = (plot: uPlot) => (event: TouchEvent) => {
    if (event.touches.length !== 2) return;
    const [a, b] = sensorRefsOf(plot, event);
    pinch = { atS: [plot.posToVal(a, 'x'), plot.posToVal(b, 'x')] };
  };
  const move = (plot: uPlot) => (event: TouchEvent) => {
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
      },
    },
  };
}
