// The topics under which a message of a device goes out: that of its present ids, and those of the ids by which it, or its
// sensor, still answers, for subscribers that name these (decision 42). Used by delivery.ts and gateway-downlinks.ts.
import type { Device } from '../../domain/devices/device.ts';
import type { FormerId } from '../../domain/devices/former-ids/former-id.ts';
import { formerIdsOfSensor } from '../../domain/devices/former-ids/sensors-with-former.ts';
import type { SensorKey } from '../../domain/devices/sensor.ts';
import { actuatorTopic, bothForms, type Levels, sensorTopic } from '../topics.ts';

/** One form of a topic, and the levels that a filter must name to get messages under it. */
export interface MessageTopic {
  readonly topic: string;
  /** The id of the device that is in the topic. */
  readonly id: string;
  readonly exactLevels: Levels | undefined;
}

/** What a message is of. */
type MessageSource =
  | { readonly kind: 'actuator'; readonly actuator: { readonly id: string } }
  | {
      readonly kind: 'sensor';
      readonly sensor: { readonly id: string; readonly key: SensorKey };
      readonly many: boolean;
    };

/** The topic of a message under the present ids. */
export function presentTopicOf(source: MessageSource, device: string): string {
  if (source.kind === 'actuator') return actuatorTopic(device, source.actuator.id);
  return sensorTopic(device, source.sensor.id, { many: source.many });
}

/**
 * Every topic, in both forms; those of the present ids first.
 * @param nowMs by the clock of former ids, which ends them.
 */
export function topicsOf(source: MessageSource, device: NamedDevice, nowMs: () => number): MessageTopic[] {
  const formerParts = source.kind === 'sensor' ? formerIdsOfSensor(device, source.sensor.key) : [];
  const forms = (named: MessageSource, id: string, exactLevels: Levels | undefined) =>
    bothForms(presentTopicOf(named, id)).map((topic) => ({ topic, id, exactLevels }));
  // The device may have given its sensor another id since the push was accepted.
  const present = source.kind === 'sensor' ? withPresentId(source, device) : source;
  const topics = forms(present, device.id, undefined);
  if (device.formerIds === undefined && formerParts.length === 0) return topics;
  const atMs = nowMs();
  const answering = (former: readonly FormerId[]) => former.filter(({ untilMs }) => untilMs > atMs);
  const devices = answering(device.formerIds ?? []);
  const parts = answering(formerParts).map(({ id }) => ({ ...present, sensor: { id, key: -1 } }) as MessageSource);
  return [
    ...topics,
    ...devices.flatMap(({ id }) => forms(present, id, [deviceLevel])),
    ...parts.flatMap((named) => forms(named, device.id, [sensorLevel])),
    ...devices.flatMap(({ id }) => parts.flatMap((named) => forms(named, id, [deviceLevel, sensorLevel]))),
  ];
}

type NamedDevice = Pick<Device, 'id' | 'formerIds' | 'sensors'>;

function withPresentId(source: MessageSource & { readonly kind: 'sensor' }, { sensors }: NamedDevice): MessageSource {
  const { id, key } = source.sensor;
  const present = sensors.get(id);
  return present === undefined || present.key !== key || present.id === id ? source : { ...source, sensor: present };
}

/** The levels of the ids in a topic. */
const deviceLevel = 1;
const sensorLevel = 3;
