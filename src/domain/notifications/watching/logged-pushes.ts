// Converts datapoints of the log into the pushes that the evaluator evaluates. Called by the watcher when it is
// behind the feed.
import type { LogEntry } from '../../ports/commit-log.ts';
import type { RuleIndex } from './rule-index.ts';
import type { SeenPush } from './watch-queue.ts';
import type { WatchStore } from './watch-store.ts';

/** The datapoints that may concern a rule, in the order of the log, each as a push of its own. */
export async function pushesOf(
  points: readonly LogEntry[],
  { watchStore, index }: { readonly watchStore: Pick<WatchStore, 'sensorRefsOf'>; readonly index: RuleIndex },
): Promise<SeenPush[]> {
  const sensorRefs = await watchStore.sensorRefsOf([...new Set(points.map(({ sensor }) => sensor))]);
  return points.flatMap(({ sensor: key, seq, receivedMs, timestampMs = Number.NaN, value, skipsRules }) => {
    const ref = sensorRefs.get(key);
    if (ref === undefined || !index.mayConcern(ref.device, ref.sensor, ref)) return [];
    const readings = [{ value, timestampMs }];
    return [{ device: { id: ref.device }, sensor: { key }, readings, receivedMs, firstSeq: seq, skipsRules }];
  });
}
