// Whether a sensor is heard as often as usual. Its usual interval is what the service has learned of its receptions; until it
// has, a fixed one counts. A device is as fresh as its freshest sensor.
import { limits } from '../../limits.ts';

export type Freshness = 'fresh' | 'late' | 'silent' | 'never';

export function freshnessOf(
  lastMs: number | undefined,
  { nowMs, intervalMs }: { readonly nowMs: number; readonly intervalMs?: number | undefined },
): Freshness {
  if (lastMs === undefined) return 'never';
  const ageMs = nowMs - lastMs;
  const lateMs =
    intervalMs === undefined ? limits.lateMs : Math.max(intervalMs * limits.lateIntervals, limits.lateMsMin);
  const silentMs =
    intervalMs === undefined ? limits.silentMs : Math.max(intervalMs * limits.silentIntervals, limits.lateMsMin * 5);
  if (ageMs <= lateMs) return 'fresh';
  return ageMs <= silentMs ? 'late' : 'silent';
}

const order: readonly Freshness[] = ['fresh', 'late', 'silent', 'never'];

export function freshest(states: readonly Freshness[]): Freshness {
  return order.find((state) => states.includes(state)) ?? 'never';
}
