// Reads all active rules from the store into the index. Called by the watcher when it begins to evaluate, and after a
// failure, when the rules in memory may be ahead of the stored ones.
import { nextLoopTurn } from '../../../base/time/next-loop-turn.ts';
import { limits } from '../../../config/limits.ts';
import type { Evaluator } from './evaluator.ts';
import type { RuleIndex } from './rule-index.ts';
import type { WatchStore } from './watch-store.ts';

/** Empties the index and loads all active rules, in steps. */
export async function loadRules({
  watchStore,
  index,
  evaluator,
}: {
  readonly watchStore: Pick<WatchStore, 'listRules'>;
  readonly index: RuleIndex;
  readonly evaluator: Evaluator;
}): Promise<void> {
  index.clear();
  evaluator.forgetValues();
  await evaluator.loadAlarms();
  for (let after = 0; ; ) {
    const rules = await watchStore.listRules({ after, limit: limits.watchLoadStep });
    for (const rule of rules) await evaluator.prepare(index.add(rule));
    if (rules.length < limits.watchLoadStep) return;
    after = (rules.at(-1) as { key: number }).key;
    await nextLoopTurn();
  }
}
