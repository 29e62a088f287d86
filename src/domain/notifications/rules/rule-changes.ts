// What a change of a rule asks of whoever evaluates rules, so that no datapoint is missed or looked at twice on the way.
// Implemented by watching/watcher.ts, called by notifications.ts alone.
import type { DeviceId } from '../../devices/device.ts';
import type { UserKey } from '../../users/user.ts';
import type { NotificationId } from './notification.ts';

/** Where the evaluation of rules stands when a change is written. */
export interface SeqSource {
  /** Seq of the newest datapoint there is. */
  readonly newest: number;
  /** All datapoints up to this seq have been looked at. */
  readonly seen: number;
}

/** What of a rule decides how much memory it takes. */
export interface RuleWeight {
  readonly devices: readonly DeviceId[];
  readonly conditionJson: string;
  readonly actionJson: string;
}

export interface RuleChanges {
  /**
   * Takes memory for a rule that is about to be stored, or for what it grows by; the function given back returns it, and is
   * called once the rule is stored, or will not be.
   * @throws Refusal `busy` where the rules there are leave no room for it.
   */
  reserve(author: UserKey, rule: RuleWeight, before?: RuleWeight): () => void;
  /** Has `write` store a new rule, and takes the rule in; many may be added at once. */
  add<T>(id: NotificationId, write: (seqs: Pick<SeqSource, 'newest'>) => Promise<T>): Promise<T>;
  /** Has `write` change a rule between two steps of the evaluation, and takes the change in before this resolves. */
  change<T>(id: NotificationId, write: (seqs: SeqSource) => Promise<T>): Promise<T>;
}
