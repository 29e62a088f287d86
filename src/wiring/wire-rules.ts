// Wires the evaluation of notification rules and the outbox. Called by wire-domain.ts alone.

import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { Config } from '../config/config.ts';
import type { AccountMails } from '../domain/accounts/account-mails.ts';
import type { Actuators } from '../domain/actuators/actuators.ts';
import type { AlarmChanges } from '../domain/alarms/alarm-changes.ts';
import type { Feed } from '../domain/datapoints/feed.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import { AccountOutbox } from '../domain/notifications/outbox/account-outbox.ts';
import { Dispatcher } from '../domain/notifications/outbox/dispatcher.ts';
import { MessageBuilder } from '../domain/notifications/outbox/message-builder.ts';
import { Messages } from '../domain/notifications/outbox/messages.ts';
import { NotificationCounters } from '../domain/notifications/outbox/notification-counters.ts';
import { Outbox } from '../domain/notifications/outbox/outbox.ts';
import type { Sender } from '../domain/notifications/outbox/sender.ts';
import type { Channel } from '../domain/notifications/rules/notification.ts';
import { Evaluator } from '../domain/notifications/watching/evaluator.ts';
import { RuleAlarms } from '../domain/notifications/watching/rule-alarms.ts';
import { RuleIndex } from '../domain/notifications/watching/rule-index.ts';
import { RuleLoader } from '../domain/notifications/watching/rule-loader.ts';
import { RuleTimers } from '../domain/notifications/watching/rule-timers.ts';
import { StepLoading } from '../domain/notifications/watching/step-loading.ts';
import { Watcher } from '../domain/notifications/watching/watcher.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Engine } from '../domain/ports/engine.ts';
import type { Users } from '../domain/users/users.ts';

export function wireRules(parts: {
  readonly config: Config;
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly ids: Ids;
  readonly log: Log;
  readonly engine: Engine;
  readonly directory: DeviceDirectory;
  readonly permissions: Permissions;
  readonly users: Users;
  readonly feed: Feed;
  readonly actuators: Actuators;
  readonly accountMails: AccountMails;
  readonly senders: ReadonlyMap<Channel, Sender>;
  readonly pushesSettled: () => Promise<void>;
  readonly alarmChanges: AlarmChanges;
}) {
  const { config, engine } = parts;
  const messageStore = engine.stores.messages;
  const counters = new NotificationCounters();
  const dispatcher = new Dispatcher({ ...parts, messageStore, counters, paidPerDayMax: config.paidMessagesPerDay });
  const { coordination } = engine;
  const outbox = new Outbox({ ...parts, coordination, messageStore, dispatcher, counters });
  const watching = {
    ...parts,
    index: new RuleIndex(),
    timers: new RuleTimers(parts.clocks),
    counters,
    outbox,
    coordination,
    commitLog: engine.commitLog,
    series: engine.series,
    watchStore: engine.stores.watch,
    ruleAlarms: new RuleAlarms({ ...parts, watchStore: engine.stores.watch }),
    onAlarmsChanged: () => parts.alarmChanges.changed(),
    messages: new MessageBuilder({ ...parts, origin: linkOrigin(config) }),
    oldHours: config.notifyOldHours,
  };
  const loading = new StepLoading(watching);
  const rules = new RuleLoader({ ...watching, loading });
  const evaluator = new Evaluator({ ...watching, loading, rules });
  const watcher = new Watcher({ ...watching, evaluator, rules });
  parts.clocks.onChange(() => {
    watcher.clockChanged();
    outbox.clockChanged();
  });
  const accountOutbox = new AccountOutbox({ ...parts, messageStore, outbox });
  return { watcher, outbox, counters, accountOutbox, messages: new Messages({ ...watching, messageStore }) };
}

/** Where links in the messages of rules lead to; empty where nobody has said. */
export function linkOrigin({ baseUrl }: Pick<Config, 'baseUrl'>): string {
  return baseUrl === '' ? '' : new URL(baseUrl).origin;
}
