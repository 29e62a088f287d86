// Chooses which of the waiting pushes go into the next commit. Called by writer.ts. Pushes of one caller keep their
// order. Work of the service (a removal that waits for all earlier pushes) neither overtakes others nor is overtaken.
import { Caller } from '../../callers/caller.ts';
import type { AppendCallback, AppendRequest } from './append.ts';

export interface QueuedAppend {
  readonly append: AppendRequest;
  readonly caller: Caller;
  /** Its datapoints in the queue, at least one. */
  readonly slots: number;
  /** Its datapoints in a commit, where long values count as several. */
  readonly load: number;
  /** Bytes of memory that it takes while it waits. */
  readonly heldBytes: number;
  /** Bytes of the messages to subscribers that it will cause. */
  readonly outgoing: number;
  readonly done: AppendCallback;
}

/** The caller for appends of the service itself. */
export const serviceCaller = new Caller('service');

/** What fits into one commit. */
export interface CommitCapacity {
  /** Datapoints, where long values count as several. */
  readonly loadMax: number;
  /** True: a push beyond `loadMax` is committed alone. False: it stays in the queue, and the group may be empty. */
  readonly takesLarge: boolean;
}

/**
 * The pushes for the next commit, and the rest. If not all fit, the commit is shared among callers, those with little
 * first.
 */
export function takeFairShare(
  queue: QueuedAppend[],
  { loadMax, takesLarge }: CommitCapacity,
): { readonly group: QueuedAppend[]; readonly rest: QueuedAppend[] } {
  let sum = 0;
  for (const { load } of queue) sum += load;
  if (sum <= loadMax || (queue.length === 1 && takesLarge)) return { group: queue, rest: [] };
  const barrier = queue.findIndex(({ caller }) => caller === serviceCaller);
  if (barrier === 0) return { group: queue.slice(0, 1), rest: queue.slice(1) };
  const candidates = barrier < 0 ? queue : queue.slice(0, barrier);
  const taken = chosen(candidates, { loadMax, takesLarge });
  const rest = queue.filter((waiting) => !taken.has(waiting));
  return { group: candidates.filter((waiting) => taken.has(waiting)), rest };
}

/**
 * Gives each caller an equal part of the commit, those with the least load first; what they leave goes to the others.
 */
function chosen(candidates: readonly QueuedAppend[], { loadMax, takesLarge }: CommitCapacity): Set<QueuedAppend> {
  const byCaller = Map.groupBy(candidates, ({ caller }) => caller);
  const callers = [...byCaller.values()]
    .map((waiting) => ({ waiting, load: waiting.reduce((sum, { load }) => sum + load, 0) }))
    .sort((a, b) => a.load - b.load);
  const taken = new Set<QueuedAppend>();
  let left = loadMax;
  for (const [index, { waiting }] of callers.entries()) {
    let part = Math.floor(left / (callers.length - index));
    for (const push of waiting) {
      if (push.load > part && (taken.size > 0 || !takesLarge)) break;
      taken.add(push);
      part -= push.load;
      left -= push.load;
    }
  }
  return taken;
}
