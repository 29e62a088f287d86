// Handles what clients publish. Topics of sensors and actuators go to the domain, committed before the PUBACK (I1). A
// message that is not permitted is dropped silently and noted for the device's owner. Other topics are relayed or
// dropped.

import { entryBytes, textHeapBytes } from '../base/memory/heap-bytes.ts';
import { LruCache } from '../base/memory/lru-cache.ts';
import { isTransient, Refusal } from '../base/refusal.ts';
import type { Json } from '../base/text/json.ts';
import { parseJsonText } from '../base/text/json-text.ts';
import { setCurrentWork } from '../base/time/event-loop-monitor.ts';
import { limits } from '../config/limits.ts';
import type { ActuatorHistory } from '../domain/actuators/actuator-history.ts';
import type { Actuators } from '../domain/actuators/actuators.ts';
import type { Ingest, SensorPush } from '../domain/datapoints/ingest/ingest.ts';
import type { Writer } from '../domain/datapoints/ingest/writer.ts';
import type { Device, DeviceId } from '../domain/devices/device.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { DropLog } from '../domain/devices/drop-log.ts';
import type { MqttSessions, RetainedCapacity } from '../domain/ports/mqtt-sessions.ts';
import type { GuestShares } from '../domain/quotas/guest-shares.ts';
import { remembered } from '../domain/remembered.ts';
import type { Actor } from '../domain/users/user.ts';
import type { Access } from './access.ts';
import { withoutNuls } from './payload.ts';
import { clientRefusalOf, type Dropped, notRelayed, ofNobody, reasonCodeOf } from './publish-refusals.ts';
import { assertActuatorBytes, bytesOf, isClearing, type Published, toOriginal, toPush } from './published.ts';
import type { DuplicateDetector } from './repeats/duplicate-detector.ts';
import { type Fingerprint, publishFingerprint, topicHash } from './repeats/fingerprint.ts';
import type { Client } from './session/client.ts';
import type { ClientSession } from './sessions.ts';
import { actuatorTopic, bothForms, isPublishable, parseTopic, type Topic, withoutSlash } from './topics.ts';

/**
 * `taken`: the domain has stored it. `relay`: it is to be passed on to other clients.
 */
export type PublishDecision = 'taken' | 'relay' | Dropped;

const describePublish = () => 'MQTT PUBLISH';

export class Publishing {
  readonly #parts: PublishingParts;
  readonly #topics = new LruCache<string, Topic>({
    weightMax: limits.rareTopicsCachedBytesMax,
    pool: remembered,
    entriesMax: limits.topicsCachedMax,
    weigh: (_, topic) => 2 * entryBytes + textHeapBytes(topic),
  });

  constructor(parts: PublishingParts) {
    this.#parts = parts;
  }

  /**
   * Decides about one PUBLISH; resolves after the commit where there is one.
   * @throws Refusal `storage`, `full` when it could not be stored, or not retained within the quota: then no PUBACK may
   * be sent.
   */
  async decide(session: ClientSession, published: Published): Promise<PublishDecision> {
    setCurrentWork(describePublish, undefined);
    // A session's messages keep their order, so they wait for one that waits for the answer about its quota.
    while (session.deciding !== undefined) await session.deciding;
    const allowed = this.#requireCapacityToRetain(session, published);
    if (allowed === undefined) return this.#byTopic(session, published);
    const decided = allowed.then(() => this.#byTopic(session, published));
    session.deciding = endOf(decided, () => {
      session.deciding = undefined;
    });
    return decided;
  }

  #byTopic(session: ClientSession, published: Published): Promise<PublishDecision> {
    const topic = this.#topicOf(published.topic);
    if (topic.kind === 'sensor') return this.#toSensor(session, topic, published);
    if (topic.kind === 'actuator') return this.#toActuator(session, topic, published);
    if (topic.kind === 'gateway' && topic.acks !== undefined) return this.#toAck(session, topic, published);
    return this.#toOthers(session, topic, published);
  }

  /**
   * Checked before anything is stored: a message beyond the quota is never acknowledged (contract 8). Undefined: it is
   * allowed, without waiting.
   */
  #requireCapacityToRetain({ actor }: ClientSession, published: Published): Promise<void> | undefined {
    const { topic, payload, retain, properties } = published;
    if (!retain || payload.length === 0) return undefined;
    const capacity = this.#parts.retained.capacityToRetain(
      actor.key,
      bothForms(topic).map((form) => ({ topic: form, payload, properties })),
    );
    if (capacity instanceof Promise) return capacity.then((known) => this.#assertCapacity(actor, known));
    this.#assertCapacity(actor, capacity);
    return undefined;
  }

  #assertCapacity(actor: Actor, capacity: RetainedCapacity): void {
    if (!capacity.isAllowed)
      throw new Refusal('quota', `The retained messages of ${actor.username} take more than the quota allows.`);
    if (actor.guest && !this.#parts.shares.takeOf(actor, 'retained_bytes', capacity))
      throw new Refusal(
        'quota',
        'The retained messages of callers from this address take their share of what guests have.',
      );
  }

  async #toOthers(session: ClientSession, topic: Topic, published: Published): Promise<PublishDecision> {
    const { repeats } = session;
    if (published.messageId !== undefined && !published.dup && repeats !== undefined)
      this.#parts.duplicates.forget(repeats, published.messageId);
    // Topics of wills are checked here alone.
    const isRelayed = isPublishable(published.topic) && (await this.#parts.access.mayRelay(session, topic));
    if (isRelayed) return 'relay';
    session.noteRefusal('topic');
    return topic.kind === 'none' ? ofNobody : notRelayed;
  }

  async #toSensor(
    session: ClientSession,
    topic: Topic & { kind: 'sensor' },
    published: Published,
  ): Promise<PublishDecision> {
    const { actor } = session;
    const device = this.#peek(topic.device) ?? (await this.#parts.directory.find(topic.device));
    const fingerprint = this.#fingerprintOf(session, published, device?.sensors.get(topic.sensor)?.key);
    try {
      await this.#once(published, fingerprint, () => {
        const push = toPush(topic, published, actor, fingerprint);
        if (fingerprint !== undefined) this.#parts.duplicates.carryChanges(fingerprint);
        return this.#accept(actor, push);
      });
    } catch (error) {
      return this.#drop(error, topic.device, session, published.topic);
    }
    return 'taken';
  }

  async #toActuator(
    session: ClientSession,
    topic: Topic & { kind: 'actuator' },
    published: Published,
  ): Promise<PublishDecision> {
    const { actor } = session;
    const { device, actuator } = topic;
    try {
      while (session.clearing !== undefined) await session.clearing;
      if (isClearing(published)) {
        const cleared = this.#clear(session, topic);
        // Later settings wait for its end, whatever the result.
        session.clearing = cleared.catch(() => {});
        await cleared;
        return 'taken';
      }
      const found = this.#peek(device) ?? (await this.#parts.directory.find(device));
      const fingerprint = this.#fingerprintOf(session, published, found?.actuators.get(actuator)?.key);
      const done = this.#once(published, fingerprint, async () => {
        if (await this.#parts.isUnderWay(session.client, published)) return;
        const payload = bytesOf(published.payload);
        assertActuatorBytes(payload);
        const value = parseJsonText(withoutNuls(payload), limits.nestingLevelsMax) as Json;
        const original = toOriginal(payload, published, actor);
        const set = () =>
          this.#parts.actuators.setValue(actor, device, actuator, value, { origin: mqttOrigin, original });
        await set().catch((error: unknown) => this.#again(actor, { error, bytes: payload.length }, set));
      });
      session.setting = done.catch(() => {});
      await done;
    } catch (error) {
      return this.#drop(error, device, session, published.topic);
    }
    return 'taken';
  }

  /**
   * The device's answer to a setting. A repeat needs no fingerprint: a setting that is confirmed is not confirmed again.
   * Where there is no such actuator, the topic may be a gateway's own.
   */
  async #toAck(
    session: ClientSession,
    topic: Topic & { kind: 'gateway' },
    published: Published,
  ): Promise<PublishDecision> {
    const { gateway: id, acks: actuator = '' } = topic;
    const { actor } = session;
    const device = this.#peek(id) ?? (await this.#parts.directory.find(id));
    if (device?.actuators.get(actuator) === undefined) return this.#toOthers(session, topic, published);
    try {
      // The settings that this session has made itself are stored before.
      await session.setting;
      const payload = withoutNuls(bytesOf(published.payload));
      assertActuatorBytes(payload);
      const answer = payload.length === 0 ? undefined : (parseJsonText(payload, limits.nestingLevelsMax) as Json);
      await this.#parts.actuatorHistory.acknowledge(actor, id, actuator, answer);
    } catch (error) {
      return this.#drop(error, id, session, published.topic);
    }
    return 'taken';
  }

  /** Removes the retained message of an actuator, after all settings of this session made before. */
  async #clear(session: ClientSession, { device, actuator }: Topic & { kind: 'actuator' }): Promise<void> {
    try {
      const set = await this.#parts.actuators.requireSet(session.actor, device, actuator);
      await session.setting;
      // Retained under the present id, whichever was published to.
      await this.#parts.clear(actuatorTopic(set.device.id, set.actuator.id), set.device);
    } finally {
      session.clearing = undefined;
    }
  }

  /** Does the work unless the message repeats one that was handled or is being handled. */
  async #once(published: Published, fingerprint: Fingerprint | undefined, work: () => Promise<void>): Promise<void> {
    if (fingerprint === undefined) return work();
    const { duplicates } = this.#parts;
    const repeated = published.dup ? duplicates.find(fingerprint) : undefined;
    if (repeated !== undefined) return repeated;
    duplicates.begin(fingerprint);
    try {
      await work();
    } catch (error) {
      duplicates.end(fingerprint, error);
      throw error;
    }
    duplicates.end(fingerprint);
  }

  #peek(device: DeviceId): Device | undefined {
    return this.#parts.directory.peek(device);
  }

  #accept(actor: Actor, push: SensorPush): Promise<void> {
    const stored = this.#parts.ingest.accept(actor, push);
    const again = () => this.#parts.ingest.accept(actor, push);
    return stored.catch((error: unknown) => this.#again(actor, { error, bytes: push.original?.bytes ?? 0 }, again));
  }

  /** While the queue is full the client's next packets stay unread (back-pressure). */
  async #again(
    { caller }: Actor,
    first: { readonly error: unknown; readonly bytes: number },
    work: () => Promise<void>,
  ): Promise<void> {
    let { error } = first;
    for (let wasResumed = false; ; wasResumed = true) {
      if (!(error instanceof Refusal) || error.code !== 'busy') throw error;
      await this.#parts.writer.waitForCapacity(caller, { bytes: first.bytes, wasResumed });
      try {
        return await work();
      } catch (next) {
        error = next;
      }
    }
  }

  /** Adds an expected refusal to the device's drop log; the sender gets no error. Throws failures of the service. */
  async #drop(error: unknown, deviceId: string, session: ClientSession, topic: string): Promise<Dropped> {
    const isExpected = error instanceof Refusal && !isTransient(error);
    if (!isExpected) throw error;
    const { actor } = session;
    session.noteRefusal(clientRefusalOf(error));
    const device = await this.#parts.directory.find(deviceId);
    if (device !== undefined) {
      this.#parts.drops.note(device, { topic, username: actor.username, reason: error.message });
    }
    // Older versions have no word for it, and what a quota kept out is never acknowledged (contract 8).
    if (error.code === 'quota' && session.client.v5 === undefined) throw error;
    return { reasonCode: reasonCodeOf(error), reason: error.message };
  }

  /** Cached, because devices publish to the same few topics again and again. */
  #topicOf(text: string): Topic {
    if (text.length > topicCharsCached) return parseTopic(text);
    let topic = this.#topics.get(text);
    if (topic === undefined) {
      topic = parseTopic(text);
      this.#topics.set(text, topic);
    }
    return topic;
  }

  #fingerprintOf(session: ClientSession, published: Published, part = 0): Fingerprint | undefined {
    if (published.qos === 0 || published.messageId === undefined) return undefined;
    if (session.repeats === undefined) return undefined;
    const bytes = bytesOf(published.payload);
    const content = { part, bytes, start: 0, end: bytes.length };
    const remembered = this.#parts.duplicates.current(session.repeats);
    return publishFingerprint(remembered, published.messageId, topicHash(withoutSlash(published.topic)), content);
  }
}

/** Resolves when the work has ended, whatever its result, and `ended` was called. */
async function endOf(work: Promise<unknown>, ended: () => void): Promise<void> {
  await work.catch(() => {});
  ended();
}

const mqttOrigin = { door: 'mqtt' } as const;

// Longer topics belong to no device, and would fill the cache.
const topicCharsCached = 2 * limits.idCharsMax + 64;

/** Whether a user's quota allows messages to be retained, each replacing the one of its topic. */
export type RetainedQuota = Pick<MqttSessions, 'capacityToRetain'>;

export interface PublishingParts {
  /** Removes the retained message of a topic. */
  readonly clear: (topic: string, device: Device) => Promise<void>;
  /** Whether an identical QoS 2 message came before and awaits its PUBREL. */
  readonly isUnderWay: (client: Client, published: Published) => Promise<boolean>;
  readonly retained: RetainedQuota;
  readonly shares: GuestShares;
  readonly ingest: Ingest;
  readonly actuators: Actuators;
  readonly actuatorHistory: ActuatorHistory;
  readonly writer: Writer;
  readonly directory: DeviceDirectory;
  readonly drops: DropLog;
  readonly access: Access;
  readonly duplicates: DuplicateDetector;
}
