// The topics under which a message of a device goes out: that of its present id, and those of the ids by which it still
// answers, for subscribers that name these (decision 41). Used by delivery.ts and gateway-downlinks.ts.
import type { Committed } from '../../domain/datapoints/feed.ts';
import type { Device } from '../../domain/devices/device.ts';
import { actuatorTopic, bothForms, type Levels, sensorTopic } from '../topics.ts';

/** One form of a topic, and the levels that a filter must name to get messages under it. */
export interface MessageTopic {
  readonly topic: string;
  readonly exactLevels: Levels | undefined;
}

/** What a message is of. */
type MessageSource =
  | { readonly kind: 'actuator'; readonly actuator: { readonly id: string } }
  | Pick<Extract<Committed, { readonly kind: 'sensor' }>, 'kind' | 'sensor' | 'many'>;

/** The topic of a message under the present ids. */
export function presentTopicOf(source: MessageSource, device: string): string {
  if (source.kind === 'actuator') return actuatorTopic(device, source.actuator.id);
  return sensorTopic(device, source.sensor.id, { many: source.many });
}

/**
 * Every topic, in both forms; those of the present ids first.
 * @param nowMs by the clock of former ids, which ends them.
 */
export function topicsOf(
  source: MessageSource,
  device: Pick<Device, 'id' | 'formerIds'>,
  nowMs: () => number,
): MessageTopic[] {
  const forms = (id: string, exactLevels: Levels | undefined) =>
    bothForms(presentTopicOf(source, id)).map((topic) => ({ topic, exactLevels }));
  const present = forms(device.id, undefined);
  if (device.formerIds === undefined) return present;
  const atMs = nowMs();
  const answering = device.formerIds.filter(({ untilMs }) => untilMs > atMs);
  return [...present, ...answering.flatMap(({ id }) => forms(id, deviceLevel))];
}

/** The level of the device's id in a topic. */
const deviceLevel: Levels = [1];
