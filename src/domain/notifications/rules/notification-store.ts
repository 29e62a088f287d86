// The store of notifications, as the domain needs it; engines implement it. Rules are removed with their author, in
// the same unit of writes.
import type { BatchRange } from '../../../base/in-batches.ts';
import type { Filter } from '../../devices/filter.ts';
import type { UserKey } from '../../users/user.ts';
import type { Notification, NotificationChange, NotificationFields, NotificationId } from './notification.ts';

export interface NotificationQuery {
  /** Rules of this author; undefined: of all. */
  readonly author: UserKey | undefined;
  readonly filter: Filter;
}

/** Where the evaluation of a rule in its present form begins. */
export interface RuleStart {
  /** Datapoints up to this seq are ignored. */
  readonly afterSeq: number;
  /** Milliseconds since 1970 UTC. */
  readonly sinceMs: number;
}

type NotificationPage = Omit<BatchRange, 'after'> & { readonly after?: number };

export interface NotificationStore {
  find(id: NotificationId): Promise<Notification | undefined>;
  /** In order of creation; of those behind `after` where that is given. */
  list(query: NotificationQuery & NotificationPage): Promise<Notification[]>;
  count(query: NotificationQuery): Promise<number>;
  create(id: NotificationId, author: UserKey, fields: NotificationFields, watched: RuleStart): Promise<void>;
  /** Sets exactly the fields of the change; with `resetsState` the state of devices is deleted. */
  update(
    id: NotificationId,
    change: NotificationChange,
    watched: RuleStart & { readonly resetsState: boolean },
  ): Promise<void>;
  remove(id: NotificationId): Promise<void>;
}
