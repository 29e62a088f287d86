// What notifications need remembered. A user who goes takes their rules along, in the same unit of writes.
import type { Filter } from '../../devices/filter.ts';
import type { UserKey } from '../../users/user.ts';
import type { Notification, NotificationChange, NotificationFields, NotificationId } from './notification.ts';

export interface NotificationQuery {
  /** Whose; undefined: everybody's. */
  readonly author: UserKey | undefined;
  readonly filter: Filter;
}

/** From where on a rule is evaluated as it is now. */
export interface RuleStart {
  /** Datapoints up to this seq do not concern it. */
  readonly afterSeq: number;
  /** Milliseconds since 1970 UTC. */
  readonly sinceMs: number;
}

export interface NotificationStore {
  find(id: NotificationId): Promise<Notification | undefined>;
  /** In order of creation. */
  list(query: NotificationQuery & { readonly limit: number; readonly offset: number }): Promise<Notification[]>;
  count(query: NotificationQuery): Promise<number>;
  create(id: NotificationId, author: UserKey, fields: NotificationFields, watched: RuleStart): Promise<void>;
  /** Sets the fields that the change names, and no other; with `isAnew` the rule forgets what it remembered of devices. */
  update(
    id: NotificationId,
    change: NotificationChange,
    watched: RuleStart & { readonly isAnew: boolean },
  ): Promise<void>;
  remove(id: NotificationId): Promise<void>;
}
