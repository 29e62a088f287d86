// Which of the waiting pushes go into the next commit. Called by writer.ts. Keeps true: the pushes of one caller keep their
// order, and work of the service itself (a removal that waits for all pushes before it) is overtaken by nobody and
// overtakes nobody.
import { Caller } from '../../callers/caller.ts';
import type { AppendCallback, AppendRequest } from './append.ts';

export interface QueuedAppend {
  readonly append: AppendRequest;
  readonly caller: Caller;
  /** Places in the queue: a request without datapoints still takes one. */
  readonly slots: number;
  /** The same in a commit, in which long values take more. */
  readonly load: number;
  readonly bytes: number;
  readonly done: AppendCallback;
}

/** In whose name the service itself appends. */
export const serviceCaller = new Caller('service');

/** What goes into one commit. */
export interface CommitCapacity {
  /** Datapoints, or as many as long values weigh. */
  readonly loadMax: number;
  /** True where a push of more than that goes alone; else it stays in the queue, and the group may be empty. */
  readonly takesLarge: boolean;
}

/** Callers that push little go first: a commit is shared out among callers when not all that waits goes into it. */
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

/** Gives each caller the same part of the commit, those with the least first; what they leave is for the others. */
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
