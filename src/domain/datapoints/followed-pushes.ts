// Publishes what other processes have committed in this process's feed, and so to its MQTT subscribers, its live
// streams and, where it evaluates them, its rules, just as what it commits itself (I2, I3). The commit log calls this
// and waits for it, so that nothing gathers here (I4).
import type { DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { SensorId, SensorKey } from '../devices/sensor.ts';
import type { CommitLog, FollowedPush } from '../ports/commit-log.ts';
import type { Feed } from './feed.ts';

interface FollowedPushesParts {
  readonly directory: DeviceDirectory;
  readonly feed: Feed;
  /** Device and sensor ids of existing sensors. */
  readonly sensorRefsOf: (
    sensors: readonly SensorKey[],
  ) => Promise<ReadonlyMap<SensorKey, { readonly device: DeviceId; readonly sensor: SensorId }>>;
}

/** From now on, publishes in the feed what the log follows. */
export function publishFollowed(commitLog: Pick<CommitLog, 'onFollowed'>, parts: FollowedPushesParts): void {
  commitLog.onFollowed = async (pushes) => {
    const refs = await parts.sensorRefsOf([...new Set(pushes.map(({ sensor }) => sensor))]);
    for (const push of pushes) {
      const ref = refs.get(push.sensor);
      // A push to a sensor that was removed meanwhile is not published.
      if (ref !== undefined) await publish(push, ref, parts);
    }
  };
}

async function publish(
  push: FollowedPush,
  ref: { readonly device: DeviceId; readonly sensor: SensorId },
  { directory, feed }: FollowedPushesParts,
): Promise<void> {
  const device = directory.peek(ref.device) ?? (await directory.find(ref.device));
  const sensor = device?.sensors.get(ref.sensor);
  if (device === undefined || sensor?.key !== push.sensor) return;
  const { readings, receivedMs, firstSeq, original, many, skipsRules } = push;
  // The process that received the push has counted its caller.
  const counted = { caller: undefined };
  feed.publish({
    ...{ kind: 'sensor', device, sensor, readings, receivedMs, firstSeq, original, many, skipsRules },
    ...counted,
  });
}
