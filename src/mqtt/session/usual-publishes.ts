// Takes usual publishes, readings of known sensors, straight from the buffer they were received in, and acknowledges them
// together after their commit (I1). Everything else goes on to packet-handler.ts in its turn. Decides exactly as
// publishing.ts does, with less work: no packet objects, no promises, one write for the acknowledgements of a commit
// (docs/decisions/0006-fast-path.md). Used by packet-reader.ts.
import { isUtf8 } from 'node:buffer';
import { entryBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { LruCache } from '../../base/memory/lru-cache.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { FairShare } from '../../domain/callers/fair-share.ts';
import type { Ingest } from '../../domain/datapoints/ingest/ingest.ts';
import { parsePlainReading } from '../../domain/datapoints/ingest/plain-reading.ts';
import { Push } from '../../domain/datapoints/ingest/push.ts';
import { parseReadings, type Readings } from '../../domain/datapoints/ingest/reading.ts';
import type { Writer } from '../../domain/datapoints/ingest/writer.ts';
import type { ContentHash } from '../../domain/datapoints/publish-fingerprint.ts';
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import { remembered } from '../../domain/remembered.ts';
import { jsonOfPayload, messageOfBareNumber, withoutNuls } from '../payload.ts';
import { packetTypes } from '../protocol/packet-types.ts';
import type { PublishFrame } from '../protocol/publish-frame.ts';
import type { DuplicateDetector } from '../repeats/duplicate-detector.ts';
import { type Fingerprint, publishFingerprint, topicHash } from '../repeats/fingerprint.ts';
import type { ClientSession } from '../sessions.ts';
import type { BrokerCounts } from '../sys/broker-counts.ts';
import { parseTopic, withoutSlash } from '../topics.ts';
import type { AnswerOrder, AnswerPlace } from './answer-order.ts';
import type { Client } from './client.ts';
import { acknowledgements, BufferedMessage, PublishGroup } from './publish-group.ts';

/** The topic of a sensor. */
interface SensorTopic {
  readonly device: string;
  readonly sensor: string;
  readonly many: boolean;
  readonly hash: ContentHash;
}

/** Answers to some messages of a group. */
interface Answers {
  readonly type: typeof packetTypes.puback | typeof packetTypes.pubrec;
  readonly ids: Iterable<number>;
  readonly count: number;
  readonly place: AnswerPlace;
}

export interface UsualPublishesParts {
  readonly ingest: Ingest;
  readonly writer: Writer;
  readonly duplicates: DuplicateDetector;
  readonly clock: Clock;
  readonly answers: AnswerOrder;
  readonly counts: BrokerCounts;
  readonly stored: Pick<MqttSessions, 'incomingIds'>;
  readonly sessionOf: (client: Client) => ClientSession | undefined;
  /** The caller whose packets these are: that of the session, before the sign-in that of the address. */
  readonly callerOf: (client: Client) => Caller;
  /** Called when messages are accepted, and when their handling has ended. */
  readonly begun: () => void;
  readonly ended: () => void;
  /** Called with a message that could not be stored. */
  readonly failed: (session: ClientSession, error: Error) => void;
}

export class UsualPublishes {
  readonly #parts: UsualPublishesParts;
  readonly #topics = new LruCache<string, SensorTopic | 'unusual'>({
    weightMax: limits.topicsCachedBytesMax,
    pool: remembered,
    entriesMax: limits.topicsCachedMax,
    weigh: (_, topic) => 2 * entryBytes + textHeapBytes(topic),
  });

  /** Messages that wait for their commit. */
  readonly #queued = new FairShare('queuedMessages', {
    aloneMax: limits.queueMessagesMax,
    reserve: limits.queueMessagesReserve,
  });

  constructor(parts: UsualPublishesParts) {
    this.#parts = parts;
  }

  /** Begins a group; undefined where the sign-in has ended. */
  groupOf(client: Client, bytes: Buffer): PublishGroup | undefined {
    const session = this.#parts.sessionOf(client);
    return session === undefined ? undefined : new PublishGroup(session, bytes, this.#parts.clock.now());
  }

  /** Whether publishes of the client may find room, and few enough wait for their commit already. */
  wantsMore(client: Client): boolean {
    const caller = this.#parts.callerOf(client);
    return this.#parts.writer.mayHaveCapacity(caller) && this.#queued.allows(caller, 1);
  }

  /** Adds a usual message to the group; false when it is not usual. */
  add(group: PublishGroup, frame: PublishFrame): boolean {
    // Only without DUP and RETAIN, and without properties.
    if (!frame.isPublish || (frame.header & 0b1001) !== 0) return false;
    if (frame.propertiesStart !== frame.propertiesEnd) return false;
    const { qos } = frame;
    if (qos > 0 && frame.packetId === 0) return false;
    if (qos > 1 && !this.#isNewOfQos2(group, frame)) return false;
    const { bytes, session } = group;
    if (session.deciding !== undefined) return false;
    const topic = this.#topicOf(bytes, frame);
    if (topic === 'unusual') return false;
    const sensorRef = this.#parts.ingest.peekSensor(session.actor, topic.device, topic.sensor);
    if (sensorRef === undefined) return false;
    const { payloadStart: start, end, packetId } = frame;
    let readings = readingsOf(bytes, frame, topic.many);
    let original: BufferedMessage | undefined;
    const from = group.from(qos as 0 | 1 | 2);
    if (readings === undefined && !topic.many) {
      const message = messageOfBareNumber(withoutNuls(bytes.subarray(start, end)));
      readings = message && readingsOf(message, { payloadStart: 0, end: message.length }, false);
      original = message && new BufferedMessage({ ...from, buffer: message }, 0, message.length);
    }
    if (readings === undefined) return false;
    let publish: Fingerprint | undefined;
    if (qos > 0) {
      const { duplicates } = this.#parts;
      if (session.repeats !== undefined) {
        const content = { part: sensorRef.sensor.key, bytes, start, end };
        publish = publishFingerprint(duplicates.current(session.repeats), packetId, topic.hash, content);
        duplicates.begin(publish);
        duplicates.carryChanges(publish);
      }
      if (qos === 1) group.packetIds.push(packetId);
      else group.receive(packetId);
    }
    original ??= new BufferedMessage(from, start, end);
    const extras = { original, publish, many: topic.many };
    group.pushes.push(new Push(sensorRef, readings, group.receivedMs, extras));
    return true;
  }

  /**
   * Whether a message of QoS 2 has an id that none before it has, and finds room beside these. A repeat of it is recognised by
   * its fingerprint, which is in the commit of its datapoints; so its id is not stored, though its session may be.
   */
  #isNewOfQos2({ session, received }: PublishGroup, { qos, packetId }: PublishFrame): boolean {
    const { client } = session;
    const ids = qos === 2 ? this.#parts.stored.incomingIds(client) : undefined;
    if (ids === undefined || ids.has(packetId) || received?.has(packetId) === true) return false;
    const { pubrecs } = this.#parts.answers.of(client);
    const more = received?.size ?? 0;
    if (pubrecs.has(packetId) || ids.size + pubrecs.waitingIds + more >= limits.inflightMax) return false;
    return ids.hasCapacityFor(more + 1);
  }

  /** Takes a group. `busy`: there is no room for it, and nothing of it was taken. */
  submit(client: Client, group: PublishGroup): 'busy' | undefined {
    const { length } = group.pushes;
    if (!client.mayAsk(group.asking)) {
      this.#ended(group.pushes, notTaken);
      return undefined;
    }
    client.groupBegun();
    client.heardMs = performance.now();
    this.#parts.begun();
    const places = this.#placesOf(client, group);
    // Only a refusal at once means that nothing of it is in the queue.
    let isAtOnce = true;
    let isRefused = false;
    const { caller } = group.session.actor;
    this.#queued.force(caller, length);
    this.#parts.ingest.submitAll(caller, group.pushes, (failure) => {
      this.#queued.release(caller, length);
      this.#ended(group.pushes, failure);
      isRefused = isAtOnce && isBusy(failure);
      if (isRefused) {
        client.answered(group.asking);
        client.groupDone();
        this.#parts.ended();
        endAll(places);
      } else if (failure === undefined) this.#acknowledge(client, group, places);
      else this.#fail(client, { group, places, error: failure as Error });
    });
    isAtOnce = false;
    if (isRefused) return 'busy';
    this.#parts.counts.received(group.session, length);
    this.#parts.counts.answers += group.asking;
    return undefined;
  }

  #ended(pushes: readonly Push[], failure: unknown): void {
    for (const { publish } of pushes) {
      if (publish !== undefined) this.#parts.duplicates.end(publish as Fingerprint, failure);
    }
  }

  /** Has a connection wait in line for room. */
  onceCapacity(
    client: Client,
    { wasResumed, resume }: { readonly wasResumed: boolean; readonly resume: () => void },
  ): void {
    const { conn } = client;
    if (client.closed || conn.destroyed) return;
    const end = () => leaveLine();
    const caller = this.#parts.callerOf(client);
    const leaveLine = this.#parts.writer.onceCapacity(caller, {
      wasResumed,
      isWanted: () => this.#queued.allows(caller, 1),
      resume: () => {
        conn.removeListener('close', end);
        resume();
      },
    });
    conn.once('close', end);
  }

  /** The places of its PUBACKs and PUBRECs, each where there are some. */
  #placesOf(client: Client, { packetIds, received }: PublishGroup): readonly Answers[] {
    const { pubacks, pubrecs } = this.#parts.answers.of(client);
    const places: Answers[] = [];
    if (packetIds.length > 0)
      places.push({ type: packetTypes.puback, ids: packetIds, count: packetIds.length, place: pubacks.open() });
    if (received !== undefined)
      places.push({ type: packetTypes.pubrec, ids: received, count: received.size, place: pubrecs.open(received) });
    return places;
  }

  /** One write for all messages of this connection in the commit; reads on when the client has read enough. */
  #acknowledge(client: Client, { received }: PublishGroup, places: readonly Answers[]): void {
    this.#parts.ended();
    if (client.closed || client.conn.destroyed) {
      endAll(places);
      return;
    }
    const ids = received && this.#parts.stored.incomingIds(client);
    if (received !== undefined) for (const id of received) ids?.add(id);
    let missing = places.length;
    const done = () => {
      missing -= 1;
      if (missing <= 0) client.groupDone();
    };
    if (places.length === 0) done();
    for (const answers of places) answers.place.end(() => this.#write(client, answers, done));
  }

  #write(client: Client, { type, ids, count }: Answers, done: () => void): void {
    // A message of QoS 2 is under way until its PUBCOMP [MQTT-4.9.0-2].
    if (type === packetTypes.puback) client.answered(count);
    if (client.closed || client.conn.destroyed) return;
    if (client.conn.write(acknowledgements(type, ids, count))) done();
    else client.waitForDrain((error) => (error === undefined ? done() : undefined));
  }

  /** Cuts the client: messages that were not stored are not acknowledged, and are sent again. */
  #fail(
    client: Client,
    failed: { readonly group: PublishGroup; readonly places: readonly Answers[]; readonly error: Error },
  ): void {
    this.#parts.failed(failed.group.session, failed.error);
    this.#parts.ended();
    client.fail(failed.error);
    endAll(failed.places);
  }

  #topicOf(bytes: Buffer, { topicStart, topicEnd }: PublishFrame): SensorTopic | 'unusual' {
    const length = topicEnd - topicStart;
    if (length > limits.fastPathTopicBytesMax) return 'unusual';
    // The topic's bytes as a map key; not its text.
    const name = bytes.toString('latin1', topicStart, topicEnd);
    let topic = this.#topics.get(name);
    if (topic === undefined) {
      topic = toSensorTopic(bytes.subarray(topicStart, topicEnd));
      this.#topics.set(name, topic);
    }
    return topic;
  }
}

/** Nothing is answered: the client is gone, or sends again. What waits for its turn behind these has it. */
function endAll(places: readonly Answers[]): void {
  for (const { place } of places) place.end();
}

const notTaken = new Error('The connection was cut before the message was taken.');

function toSensorTopic(bytes: Buffer): SensorTopic | 'unusual' {
  // The slow way closes the connection [MQTT-1.5.3-1]; decoded, the bytes could be the name of another device.
  if (!isUtf8(bytes)) return 'unusual';
  const text = bytes.toString('utf8');
  const topic = parseTopic(text);
  if (topic.kind !== 'sensor') return 'unusual';
  const { device, sensor, many } = topic;
  return { device, sensor, many, hash: topicHash(withoutSlash(text)) };
}

function readingsOf(
  bytes: Buffer,
  { payloadStart, end }: Pick<PublishFrame, 'payloadStart' | 'end'>,
  many: boolean,
): Readings | undefined {
  const plain = parsePlainReading(bytes, payloadStart, end);
  if (plain !== undefined) return plain;
  try {
    const body = jsonOfPayload(bytes.subarray(payloadStart, end));
    const readings = Array.isArray(body) && !many ? [] : parseReadings(body);
    return readings.length === 0 ? undefined : readings;
  } catch {
    // The slow way refuses it again, and notes it for the owner.
    return undefined;
  }
}

function isBusy(failure: unknown): boolean {
  return failure instanceof Refusal && failure.code === 'busy';
}
