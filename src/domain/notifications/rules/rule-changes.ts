// The interface between changes of rules and their evaluation: no datapoint is missed or evaluated twice because of a
// change. Implemented by watching/watcher.ts, called by notifications.ts alone.
import type { DeviceId } from '../../devices/device.ts';
import type { UserKey } from '../../users/user.ts';
import type { NotificationFields, NotificationId } from './notification.ts';

/** The optional fields of a rule, which most rules do not have. */
export type RuleExtras = Pick<NotificationFields, 'hysteresis' | 'forS' | 'silenceS' | 'recoveryMessage'>;

/** The position of the evaluation when a change is written. */
export interface SeqSource {
  /** Seq of the newest datapoint. */
  readonly newest: number;
  /** Datapoints up to this seq have been evaluated. */
  readonly seen: number;
}

/** The fields that determine how much memory a rule takes. */
export interface RuleWeight {
  readonly devices: readonly DeviceId[];
  readonly conditionJson: string;
  readonly actionJson: string;
  readonly extras: RuleExtras;
}

export interface RuleChanges {
  /**
   * Reserves memory for a rule that is about to be stored, or for its growth.
   * @returns the function that ends the reservation; call it when the rule is stored, or will not be.
   * @throws Refusal `busy` where the existing rules leave no memory for it.
   */
  reserve(author: UserKey, rule: RuleWeight, before?: RuleWeight): () => void;
  /** Calls `write` to store a new rule, then adds it to the evaluation; many may be added at once. */
  add<T>(id: NotificationId, write: (seqs: Pick<SeqSource, 'newest'>) => Promise<T>): Promise<T>;
  /** Calls `write` to change a rule between two steps of the evaluation; the change is in effect when this resolves. */
  change<T>(id: NotificationId, write: (seqs: SeqSource) => Promise<T>): Promise<T>;
}
