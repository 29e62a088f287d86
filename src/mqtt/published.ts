// A message of a client, and what is read of it for the domain. Used by publishing.ts.
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { OriginalMessage } from '../domain/datapoints/feed.ts';
import type { SensorPush } from '../domain/datapoints/ingest/ingest.ts';
import { parseReadings } from '../domain/datapoints/ingest/reading.ts';
import type { Actor } from '../domain/users/user.ts';
import { jsonOfPayload, messageOfBareNumber, withoutNuls } from './payload.ts';
import type { Fingerprint } from './repeats/fingerprint.ts';
import type { Topic } from './topics.ts';

/** A message of a client. */
export interface Published {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  readonly messageId?: number | undefined;
  readonly properties?: Buffer | undefined;
  readonly expiresMs?: number | undefined;
  /** The client id of its publisher. */
  readonly publisherId?: string | undefined;
}

/**
 * The bound of the same body over HTTP: parsing 16 MiB takes long, and the value itself is bounded far below that.
 * @throws Refusal `too-large`
 */
export function assertActuatorBytes({ length }: Buffer): void {
  if (length <= limits.smallBodyBytesMax) return;
  throw new Refusal('too-large', `A message to an actuator takes ${limits.smallBodyBytesMax} bytes, not ${length}.`);
}

/** @throws Refusal `malformed`, `too-large` for a payload that is not a reading. */
export function toPush(
  topic: Topic & { kind: 'sensor' },
  published: Published,
  actor: Actor,
  publish: Fingerprint | undefined,
): SensorPush {
  const received = bytesOf(published.payload);
  const payload = (topic.many ? undefined : messageOfBareNumber(withoutNuls(received))) ?? received;
  const original = toOriginal(payload, published, actor);
  if (isClearing(published)) {
    return { device: topic.device, sensor: topic.sensor, readings: [], isInLine: true, original };
  }
  const body = jsonOfPayload(payload);
  if (Array.isArray(body) && !topic.many) throw new Refusal('malformed', 'An array goes to the topic …/values.');
  const { device, sensor, many } = topic;
  return { device, sensor, readings: parseReadings(body), original, publish, many };
}

export function toOriginal(payload: Buffer, published: Published, { key: user }: Actor): OriginalMessage {
  const { qos, retain, properties, expiresMs, publisherId } = published;
  const bytes = payload.length + (properties?.length ?? 0);
  const original = { payload, bytes, qos, retain, properties, expiresMs, publisherId };
  return retain ? { ...original, user } : original;
}

/** An empty retained message removes the retained one [MQTT-3.3.1-10]; it is not a reading. */
export function isClearing({ retain, payload }: Published): boolean {
  return retain && payload.length === 0;
}

export function bytesOf(payload: string | Buffer): Buffer {
  return typeof payload === 'string' ? Buffer.from(payload) : payload;
}
