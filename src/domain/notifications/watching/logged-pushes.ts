// Datapoints of the log as the pushes that the evaluator looks at. Called by the watcher where it is behind the feed.
import type { LogEntry } from '../../ports/commit-log.ts';
import type { RuleIndex } from './rule-index.ts';
import type { SeenPush } from './watch-queue.ts';
import type { WatchStore } from './watch-store.ts';

/** The datapoints that may concern a rule, in their order, each as a push. */
export async function pushesOf(
  points: readonly LogEntry[],
  { watchStore, index }: { readonly watchStore: Pick<WatchStore, 'sensorRefsOf'>; readonly index: RuleIndex },
): Promise<SeenPush[]> {
  const sensorRefs = await watchStore.sensorRefsOf([...new Set(points.map(({ sensor }) => sensor))]);
  return points.flatMap(({ sensor: key, seq, receivedMs, timestampMs = Number.NaN, value, skipsRules }) => {
    const ref = sensorRefs.get(key);
    if (ref === undefined || !index.mayConcern(ref.device, ref.sensor)) return [];
    const readings = [{ value, timestampMs }];
    return [{ device: { id: ref.device }, sensor: { key }, readings, receivedMs, firstSeq: seq, skipsRules }];
  });
}
