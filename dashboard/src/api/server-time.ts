// The time by the clock of the server, whatever that of the browser shows: spans of charts end then, ages count from then.
// The server tells it with what the dashboard reads first (facts.ts), and again where the browser's clock was moved or slept.
import { limits } from '../limits.ts';

/** By how much the server's clock is ahead of the browser's; 0 as long as they hardly differ, or the server cannot say. */
let aheadMs = 0;
/** The browser's clock against its monotonic one when the server told the time. */
let offsetMs = Date.now() - performance.now();

/** Milliseconds since 1970 UTC. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** @param timeMs what the server's clock shows; undefined where it is in doubt. */
export function setServerTime(timeMs: number | undefined): void {
  const differenceMs = timeMs === undefined ? 0 : timeMs - Date.now();
  aheadMs = Math.abs(differenceMs) < limits.clockDifferenceMs ? 0 : differenceMs;
  offsetMs = Date.now() - performance.now();
}

/** Whether the browser's clock has jumped, or its machine has slept, since the server told the time. */
export function isServerTimeOld(): boolean {
  return Math.abs(Date.now() - performance.now() - offsetMs) > limits.clockDifferenceMs;
}
