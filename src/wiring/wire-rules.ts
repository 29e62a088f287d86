// Wires what evaluates notification rules and sends what they say. Called by server.ts alone.
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Config } from '../config/config.ts';
import type { Actuators } from '../domain/actuators/actuators.ts';
import type { Feed } from '../domain/datapoints/feed.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import { Courier } from '../domain/notifications/courier.ts';
import { Evaluator } from '../domain/notifications/evaluator.ts';
import { MessageMaker } from '../domain/notifications/message-maker.ts';
import { Messages } from '../domain/notifications/messages.ts';
import type { Channel } from '../domain/notifications/notification.ts';
import { Outbox } from '../domain/notifications/outbox.ts';
import { RuleIndex } from '../domain/notifications/rule-index.ts';
import type { Sender } from '../domain/notifications/sender.ts';
import { Tally } from '../domain/notifications/tally.ts';
import { Watcher } from '../domain/notifications/watcher.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Users } from '../domain/users/users.ts';
import { SqlMessageStore } from '../storage/sql/message-store.ts';
import { SqlWatchStore } from '../storage/sql/watch-store.ts';
import type { EmbeddedStore } from '../storage/sqlite/open.ts';

export function wireRules(parts: {
  readonly config: Config;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly store: EmbeddedStore;
  readonly directory: DeviceDirectory;
  readonly permissions: Permissions;
  readonly users: Users;
  readonly feed: Feed;
  readonly actuators: Actuators;
  readonly senders: ReadonlyMap<Channel, Sender>;
}) {
  const { config, store } = parts;
  const messageStore = new SqlMessageStore(store.registry);
  const tally = new Tally();
  const courier = new Courier({ ...parts, messageStore, tally, paidPerDayMax: config.paidMessagesPerDay });
  const outbox = new Outbox({ ...parts, messageStore, courier, tally });
  const watching = {
    ...parts,
    index: new RuleIndex(),
    tally,
    store: store.datapoints,
    watchStore: new SqlWatchStore(store.registry),
    messages: new MessageMaker(parts),
    oldHours: config.notifyOldHours,
    onMessages: (channels: ReadonlySet<string>) => outbox.wakeFor(channels),
  };
  const evaluator = new Evaluator(watching);
  const watcher = new Watcher({ ...watching, evaluator });
  return { watcher, outbox, tally, messages: new Messages({ ...watching, messageStore }) };
}
