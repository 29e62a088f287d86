// The grammar of topics (contract 8); no other file takes topics apart. Topics with and without a leading slash mean the
// same; a subscriber receives the form that its filter asks for.

import { hasBytesMax } from '../base/text/text-length.ts';
import { limits } from '../config/limits.ts';

/** The meaning of a topic. */
export type Topic =
  | { readonly kind: 'sensor'; readonly device: string; readonly sensor: string; readonly many: boolean }
  | { readonly kind: 'actuator'; readonly device: string; readonly actuator: string }
  /** `users/{username}/…`: between connections of one user. */
  | { readonly kind: 'user'; readonly username: string }
  /** `devices/{gateway id}/…`: between clients that may act for the gateway. */
  | {
      readonly kind: 'gateway';
      readonly gateway: string;
      /** Set on `…/actuators/{a}/ack`: the actuator, where a device has this id and such an actuator. */
      readonly acks?: string;
    }
  | { readonly kind: 'none' };

const none: Topic = { kind: 'none' };

/** @param topic with or without the leading slash. */
export function parseTopic(topic: string): Topic {
  const levels = withoutSlash(topic).split('/');
  const [root, id = '', part, partId = '', leaf] = levels;
  if (root === 'users') return levels.length > 2 && id !== '' ? { kind: 'user', username: id } : none;
  // No device or gateway has a longer id, so it is not looked up.
  if (root !== 'devices' || id === '' || id.length > limits.idCharsMax) return none;
  if (levels.length === 5 && partId !== '') {
    if (part === 'sensors' && (leaf === 'value' || leaf === 'values')) {
      return { kind: 'sensor', device: id, sensor: partId, many: leaf === 'values' };
    }
    if (part === 'actuators' && leaf === 'value') return { kind: 'actuator', device: id, actuator: partId };
    if (part === 'actuators' && leaf === 'ack') return { kind: 'gateway', gateway: id, acks: partId };
  }
  return levels.length > 2 ? { kind: 'gateway', gateway: id } : none;
}

/** Topics from `from` up to, but without, `to`, in the order of their text. */
export interface TopicRange {
  readonly from: string;
  readonly to: string;
}

/** The topics that belong to the user alone, in both forms. */
export function ownTopicsOf(username: string): readonly TopicRange[] {
  // '0' is the character after '/', so this range contains exactly the topics below the prefix.
  return bothForms(`users/${username}`).map((own) => ({ from: `${own}/`, to: `${own}0` }));
}

/** Whether a client may publish to this topic: no wildcards [MQTT-3.3.2-2], not too many levels. */
export function isPublishable(topic: string): boolean {
  return (
    hasBytesMax(topic, limits.topicBytesMax) && !/[+#]/.test(topic) && topic.split('/').length <= limits.topicLevelsMax
  );
}

/** The first two levels, which all topics of one user or one gateway share; never equal to the id of a device. */
export function relayKeyOf(topic: string): string {
  return withoutSlash(topic).split('/', 2).join('/');
}

export function sensorTopic(device: string, sensor: string, options: { readonly many: boolean }): string {
  return `devices/${device}/sensors/${sensor}/${options.many ? 'values' : 'value'}`;
}

export function actuatorTopic(device: string, actuator: string): string {
  return `devices/${device}/actuators/${actuator}/value`;
}

/** The topic without its leading slash. */
export function withoutSlash(topic: string): string {
  return topic.startsWith('/') ? topic.slice(1) : topic;
}

/** The two forms in which a message is sent. */
export function bothForms(topic: string): readonly [string, string] {
  const bare = withoutSlash(topic);
  return [bare, `/${bare}`];
}

/**
 * Whether a filter asks for the form with the leading slash: those that begin with `/` or `+/`; no other, not even `#`.
 */
function takesSlash(filter: string): boolean {
  return filter.startsWith('/') || filter.startsWith('+/');
}

/** Numbers of levels of a topic, from 0, without its leading slash. */
export type Levels = readonly number[];

/** Under which whom a topic's messages go to is remembered. No topic has a line break beside levels that must be named. */
export function keyOf(topic: string, exactLevels: Levels | undefined): string {
  return exactLevels === undefined ? topic : `${topic}\n${exactLevels.join()}`;
}

/**
 * Whether the form of `topic` is the one that `filter` asks for. At `exactLevels` the topic has former ids of a device or sensor;
 * a filter must name these. Filters with a wildcard there get the message under the present id instead (decision 42).
 */
export function matchesForm(filter: string, topic: string, exactLevels?: Levels): boolean {
  const isSlashed = topic.startsWith('/');
  if (takesSlash(filter) !== isSlashed) return false;
  if (exactLevels === undefined || filter === topic) return true;
  const [levels, named] = [topic.split('/'), filter.split('/')];
  return exactLevels.every((level) => named[level + Number(isSlashed)] === levels[level + Number(isSlashed)]);
}

/** Whether the topic is one of a sensor or actuator. */
export function isOfDevice(topic: string): boolean {
  const { kind } = parseTopic(topic);
  return kind === 'sensor' || kind === 'actuator';
}

/** The ids that a filter of sensors or actuators names; undefined where it has a wildcard instead. */
export function idsNamedBy(
  filter: string,
): { readonly device: string; readonly sensor: string | undefined } | undefined {
  const [root, device = '', part, sensor] = withoutSlash(filter).split('/');
  if (root !== 'devices' || device.length > limits.idCharsMax || isWildcard(device)) return undefined;
  return { device, sensor: part === 'sensors' && sensor !== undefined && !isWildcard(sensor) ? sensor : undefined };
}

function isWildcard(level: string): boolean {
  return level === '' || level === '+' || level === '#';
}

/** The filter, or topic, with other ids at the levels where it has those of a device and, if given, of a sensor. */
export function withIds(filter: string, ids: { readonly device: string; readonly sensor: string | undefined }): string {
  const levels = filter.split('/');
  const at = filter.startsWith('/') ? 2 : 1;
  levels[at] = ids.device;
  if (ids.sensor !== undefined) levels[at + 2] = ids.sensor;
  return levels.join('/');
}

/** The topic with the ids that the filter names in place of its own. */
export function withIdsOf(filter: string, topic: string): string {
  const named = idsNamedBy(filter);
  return named === undefined ? topic : withIds(topic, named);
}

/**
 * Whether the filter matches the topic [MQTT-4.7]. Called for each filter of a session and message, so it allocates no
 * arrays.
 */
export function matchesFilter(filter: string, topic: string): boolean {
  let at = 0;
  for (let from = 0; ; ) {
    const end = endOfLevel(filter, from);
    if (filter[from] === '#' && end === from + 1) return true;
    // The topic has no further level.
    if (at > topic.length) return false;
    const topicEnd = endOfLevel(topic, at);
    const isAny = filter[from] === '+' && end === from + 1;
    if (!isAny && (topicEnd - at !== end - from || !topic.startsWith(filter.slice(from, end), at))) return false;
    if (end === filter.length) return topicEnd === topic.length;
    from = end + 1;
    at = topicEnd + 1;
  }
}

function endOfLevel(text: string, from: number): number {
  const end = text.indexOf('/', from);
  return end < 0 ? text.length : end;
}
