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
import type { Ingest } from '../../domain/datapoints/ingest/ingest.ts';
import { parsePlainReading } from '../../domain/datapoints/ingest/plain-reading.ts';
import { Push } from '../../domain/datapoints/ingest/push.ts';
import { parseReadings, type Reading } from '../../domain/datapoints/ingest/reading.ts';
import type { Writer } from '../../domain/datapoints/ingest/writer.ts';
import type { ContentHash } from '../../domain/datapoints/publish-fingerprint.ts';
import { remembered } from '../../domain/remembered.ts';
import { jsonOfPayload, messageOfBareNumber, withoutNuls } from '../payload.ts';
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

export interface UsualPublishesParts {
  readonly ingest: Ingest;
  readonly writer: Writer;
  readonly duplicates: DuplicateDetector;
  readonly clock: Clock;
  readonly answers: AnswerOrder;
  readonly counts: BrokerCounts;
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

  constructor(parts: UsualPublishesParts) {
    this.#parts = parts;
  }

  /** Begins a group; undefined where the sign-in has ended. */
  groupOf(client: Client, bytes: Buffer): PublishGroup | undefined {
    const session = this.#parts.sessionOf(client);
    return session === undefined ? undefined : new PublishGroup(session, bytes);
  }

  mayHaveCapacity(client: Client): boolean {
    return this.#parts.writer.mayHaveCapacity(this.#parts.callerOf(client));
  }

  /** Adds a usual message to the group; false when it is not usual. */
  add(group: PublishGroup, frame: PublishFrame): boolean {
    // Only without DUP and RETAIN, with QoS 0 or 1, and without properties.
    if (!frame.isPublish || (frame.header & 0b1101) !== 0) return false;
    if (frame.propertiesStart !== frame.propertiesEnd) return false;
    if (frame.qos === 1 && frame.packetId === 0) return false;
    const { bytes, session } = group;
    if (session.deciding !== undefined) return false;
    const topic = this.#topicOf(bytes, frame);
    if (topic === 'unusual') return false;
    const sensorRef = this.#parts.ingest.peekSensor(session.actor, topic.device, topic.sensor);
    if (sensorRef === undefined) return false;
    const { payloadStart: start, end, packetId } = frame;
    let readings = readingsOf(bytes, frame, topic.many);
    let original: BufferedMessage | undefined;
    const from = frame.qos === 0 ? group.withQos0 : group.withQos1;
    if (readings === undefined && !topic.many) {
      const message = messageOfBareNumber(withoutNuls(bytes.subarray(start, end)));
      readings = message && readingsOf(message, { payloadStart: 0, end: message.length }, false);
      original = message && new BufferedMessage(message, 0, message.length, from);
    }
    if (readings === undefined) return false;
    let publish: Fingerprint | undefined;
    if (frame.qos === 1) {
      const { duplicates } = this.#parts;
      if (session.repeats !== undefined) {
        const content = { part: sensorRef.sensor.key, bytes, start, end };
        publish = publishFingerprint(duplicates.current(session.repeats), packetId, topic.hash, content);
        duplicates.begin(publish);
        duplicates.carryChanges(publish);
      }
      group.packetIds.push(packetId);
    }
    original ??= new BufferedMessage(bytes, start, end, from);
    const extras = { original, publish, many: topic.many };
    group.pushes.push(new Push(sensorRef, readings, this.#parts.clock.now(), extras));
    return true;
  }

  /** Takes a group. `busy`: there is no room for it, and nothing of it was taken. */
  submit(client: Client, group: PublishGroup): 'busy' | undefined {
    const { length } = group.pushes;
    if (!client.mayAsk(group.packetIds.length)) {
      this.#ended(group.pushes, notTaken);
      return undefined;
    }
    client.groupBegun();
    client.heardMs = performance.now();
    this.#parts.begun();
    const { pubacks } = this.#parts.answers.of(client);
    const place = group.packetIds.length === 0 ? undefined : pubacks.open();
    // Only a refusal at once means that nothing of it is in the queue.
    let isAtOnce = true;
    let isRefused = false;
    this.#parts.ingest.submitAll(group.session.actor.caller, group.pushes, (failure) => {
      this.#ended(group.pushes, failure);
      isRefused = isAtOnce && isBusy(failure);
      if (isRefused) {
        client.answered(group.packetIds.length);
        client.groupDone();
        this.#parts.ended();
        place?.end();
      } else if (failure === undefined) this.#acknowledge(client, group, place);
      else this.#fail(client, { group, place, error: failure as Error });
    });
    isAtOnce = false;
    if (isRefused) return 'busy';
    this.#parts.counts.received(group.session, length);
    this.#parts.counts.answers += group.packetIds.length;
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
    const leaveLine = this.#parts.writer.onceCapacity(this.#parts.callerOf(client), {
      wasResumed,
      resume: () => {
        conn.removeListener('close', end);
        resume();
      },
    });
    conn.once('close', end);
  }

  /**
   * One write for all messages of this connection in the commit; reads on when the client has read enough. Its place ends although
   * the connection has closed: other answers may wait behind it, and a stop of the service for them.
   */
  #acknowledge(client: Client, { packetIds }: PublishGroup, place: AnswerPlace | undefined): void {
    this.#parts.ended();
    if (client.closed || client.conn.destroyed) place?.end();
    else if (place === undefined) client.groupDone();
    else {
      place.end(() => {
        client.answered(packetIds.length);
        if (client.closed || client.conn.destroyed) return;
        if (client.conn.write(acknowledgements(packetIds))) client.groupDone();
        else client.waitForDrain((error) => (error === undefined ? client.groupDone() : undefined));
      });
    }
  }

  /** Cuts the client: messages that were not stored are not acknowledged, and are sent again. */
  #fail(
    client: Client,
    {
      group,
      place,
      error,
    }: { readonly group: PublishGroup; readonly place: AnswerPlace | undefined; readonly error: Error },
  ): void {
    this.#parts.failed(group.session, error);
    this.#parts.ended();
    client.fail(error);
    // What waits behind it comes to its end, and is written to nobody.
    place?.end();
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
): readonly Reading[] | undefined {
  const plain = parsePlainReading(bytes, payloadStart, end);
  if (plain !== undefined) return [plain];
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
