// Publishes what other processes have committed in this process's feed, and so to its MQTT subscribers, its live
// streams and, where it evaluates them, its rules, just as what it commits itself (I2, I3). The commit log calls this
// and waits for it, so that nothing gathers here (I4); nor does it on the way to subscribers: what cannot be stored for their sessions
// at the moment has the log wait.
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Sensor, SensorId, SensorKey } from '../devices/sensor.ts';
import type { CommitLog, FollowedPush } from '../ports/commit-log.ts';
import type { CommittedPush, Feed } from './feed.ts';

interface CommittedPushesParts {
  readonly directory: DeviceDirectory;
  /** Device and sensor ids of existing sensors. */
  readonly sensorRefsOf: (
    sensors: readonly SensorKey[],
  ) => Promise<ReadonlyMap<SensorKey, { readonly device: DeviceId; readonly sensor: SensorId }>>;
}

/** Pushes as they go to the feed, those to sensors that were removed meanwhile left out. */
export type CommittedPushesOf = (pushes: readonly FollowedPush[]) => Promise<readonly CommittedPush[]>;

export function committedPushes({ directory, sensorRefsOf }: CommittedPushesParts): CommittedPushesOf {
  return async (pushes) => {
    const refs = await sensorRefsOf([...new Set(pushes.map(({ sensor }) => sensor))]);
    const devices = new Map<DeviceId, Device>();
    for (const { device: id } of refs.values()) {
      const device = devices.get(id) ?? directory.peek(id) ?? (await directory.find(id));
      if (device !== undefined) devices.set(id, device);
    }
    return pushes.flatMap((push) => {
      const ref = refs.get(push.sensor);
      const device = ref && (directory.peek(ref.device) ?? devices.get(ref.device));
      const sensor = ref && device?.sensors.get(ref.sensor);
      return device !== undefined && sensor?.key === push.sensor ? committed(push, device, sensor) : [];
    });
  };
}

/** From now on, publishes in the feed what the log follows. */
export function publishFollowed(
  commitLog: Pick<CommitLog, 'onFollowed'>,
  {
    feed,
    committedPushesOf,
    room,
  }: {
    readonly feed: Feed;
    readonly committedPushesOf: CommittedPushesOf;
    /** Resolves when there is room on the way to subscribers. @throws Refusal `busy` */
    readonly room: () => Promise<void>;
  },
): void {
  commitLog.onFollowed = async (pushes) => {
    await room();
    // All in one turn: where something fails before, the log calls again, and nothing of it is published twice.
    for (const push of await committedPushesOf(pushes)) feed.publish(push);
  };
}

function committed(push: FollowedPush, device: Device, sensor: Sensor): CommittedPush {
  const { readings, receivedMs, firstSeq, original, many, skipsRules } = push;
  // The process that received the push has counted its caller.
  const counted = { caller: undefined };
  return { kind: 'sensor', device, sensor, readings, receivedMs, firstSeq, original, many, skipsRules, ...counted };
}
