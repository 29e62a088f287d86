// Wires alarms: what finds them, who reads and follows them. Called by wire-domain.ts alone.
import type { Ids } from '../base/ids.ts';
import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import { limits } from '../config/limits.ts';
import type { AlarmChanges } from '../domain/alarms/alarm-changes.ts';
import { AlarmStreams } from '../domain/alarms/alarm-stream.ts';
import { AlarmSweep } from '../domain/alarms/alarm-sweep.ts';
import { Alarms } from '../domain/alarms/alarms.ts';
import { Habits } from '../domain/alarms/habits.ts';
import { QuietGateways } from '../domain/alarms/quiet-gateways.ts';
import { SilentSensors } from '../domain/alarms/silent-sensors.ts';
import { StorageAlarm } from '../domain/alarms/storage-alarm.ts';
import type { Feed } from '../domain/datapoints/feed.ts';
import type { StorageQuota } from '../domain/datapoints/ingest/storage-quota.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { Presence } from '../domain/gateways/presence.ts';
import type { Permissions } from '../domain/permissions/permission.ts';
import type { Engine } from '../domain/ports/engine.ts';
import type { Users } from '../domain/users/users.ts';

export function wireAlarms(parts: {
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly ids: Ids;
  readonly log: Log;
  readonly engine: Engine;
  readonly feed: Feed;
  readonly directory: DeviceDirectory;
  readonly permissions: Permissions;
  readonly users: Users;
  readonly gateways: Gateways;
  readonly presence: Presence;
  readonly storageQuota: StorageQuota;
  readonly changes: AlarmChanges;
}) {
  const { clocks, ids, engine, presence, storageQuota, changes } = parts;
  const { stores, coordination, series, figures } = engine;
  const alarmStore = stores.alarms;
  // One that was silent and has sent again: the sweep ends its alarm soon.
  const onReturn = () => sweep.soon();
  const habits = {
    sensors: new Habits({ bytesMax: limits.sensorHabitBytesMax, onReturn }),
    gateways: new Habits({ bytesMax: limits.gatewayHabitBytesMax, onReturn }),
  };
  presence.onSeen = (gateway, atMs) => habits.gateways.note(gateway, atMs);
  const refusesBecause = () => figures.refusesBecause ?? storageQuota.fullReason;
  const storageAlarm = new StorageAlarm({ ids, refusesBecause });
  const of = { ...parts, alarmStore, coordination, storageAlarm, habits };
  const sweep: AlarmSweep = new AlarmSweep({
    ...of,
    silentSensors: new SilentSensors({ ...of, series, sensors: stores.retention, habits: habits.sensors }),
    quietGateways: new QuietGateways({ ...of, habits: habits.gateways }),
  });
  clocks.onChange(() => sweep.clockChanged());
  return { sweep, changes, alarms: new Alarms(of), alarmStreams: new AlarmStreams(of), sensorHabits: habits.sensors };
}
