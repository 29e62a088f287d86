// The grammar of topics (contract 8); the only file that knows it. Topics with and without the leading slash mean the
// same; which form a subscriber gets depends on the filter it asked with.

import { hasBytesMax } from '../base/text/text-length.ts';
import { limits } from '../config/limits.ts';

/** What a topic stands for. */
export type Topic =
  | { readonly kind: 'sensor'; readonly device: string; readonly sensor: string; readonly many: boolean }
  | { readonly kind: 'actuator'; readonly device: string; readonly actuator: string }
  /** `users/{username}/…`: between the connections of one user. */
  | { readonly kind: 'user'; readonly username: string }
  /** `devices/{gateway id}/…`: a gateway client's own. */
  | { readonly kind: 'gateway'; readonly gateway: string }
  | { readonly kind: 'none' };

const none: Topic = { kind: 'none' };

export function parseTopic(topic: string): Topic {
  const levels = withoutSlash(topic).split('/');
  const [root, id = '', part, partId = '', leaf] = levels;
  if (root === 'users') return levels.length > 2 && id !== '' ? { kind: 'user', username: id } : none;
  // A longer one is no id: it is not looked up. The names of users have a bound of their own.
  if (root !== 'devices' || id === '' || id.length > limits.idCharsMax) return none;
  if (levels.length === 5 && partId !== '') {
    if (part === 'sensors' && (leaf === 'value' || leaf === 'values')) {
      return { kind: 'sensor', device: id, sensor: partId, many: leaf === 'values' };
    }
    if (part === 'actuators' && leaf === 'value') return { kind: 'actuator', device: id, actuator: partId };
  }
  return levels.length > 2 ? { kind: 'gateway', gateway: id } : none;
}

/** Topics from one on, and before another, in the order of their text. */
export interface TopicRange {
  readonly from: string;
  readonly to: string;
}

/** The topics that are the user's own, in both forms. */
export function ownTopicsOf(username: string): readonly TopicRange[] {
  // What lies between a prefix that ends with a slash and the same with 0, the character after it, begins with it.
  return bothForms(`users/${username}`).map((own) => ({ from: `${own}/`, to: `${own}0` }));
}

/** May a message be published to it [MQTT-3.3.2-2], and not nested too deeply? */
export function isPublishable(topic: string): boolean {
  return (
    hasBytesMax(topic, limits.topicBytesMax) && !/[+#]/.test(topic) && topic.split('/').length <= limits.topicLevelsMax
  );
}

export function sensorTopic(device: string, sensor: string, options: { readonly many: boolean }): string {
  return `devices/${device}/sensors/${sensor}/${options.many ? 'values' : 'value'}`;
}

export function actuatorTopic(device: string, actuator: string): string {
  return `devices/${device}/actuators/${actuator}/value`;
}

export function withoutSlash(topic: string): string {
  return topic.startsWith('/') ? topic.slice(1) : topic;
}

/** Both forms in which a message goes out. */
export function bothForms(topic: string): readonly [string, string] {
  const bare = withoutSlash(topic);
  return [bare, `/${bare}`];
}

/** Does a filter take the form with the slash? One that begins with `/` or `+/` does; every other, `#` included, not. */
function takesSlash(filter: string): boolean {
  return filter.startsWith('/') || filter.startsWith('+/');
}

/** May a message on `topic` go to who asked with `filter`, as far as the form is concerned? */
export function matchesForm(filter: string, topic: string): boolean {
  return takesSlash(filter) === topic.startsWith('/');
}

/** Does the filter match the topic [MQTT-4.7]? Asked for each filter of a session and message, so it makes no arrays. */
export function matchesFilter(filter: string, topic: string): boolean {
  let at = 0;
  for (let from = 0; ; ) {
    const end = endOfLevel(filter, from);
    if (filter[from] === '#' && end === from + 1) return true;
    // No level of the topic is left.
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
