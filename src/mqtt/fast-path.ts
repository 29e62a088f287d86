// The fast path: takes usual PUBLISH packets straight from the buffer they were received in, and acknowledges them
// together after their commit (I1). Everything else goes on to the broker in its turn. Decides exactly as publishing.ts
// does, with less work: no packet objects, no promises, one write for the acknowledgements of a commit
// (docs/decisions/0006-fast-path.md).
import { isUtf8 } from 'node:buffer';
import type { Client } from 'aedes';
import { entryBytes, textHeapBytes } from '../base/memory/heap-bytes.ts';
import { LruCache } from '../base/memory/lru-cache.ts';
import { Refusal } from '../base/refusal.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import type { Ingest } from '../domain/datapoints/ingest/ingest.ts';
import { parsePlainReading } from '../domain/datapoints/ingest/plain-reading.ts';
import { Push } from '../domain/datapoints/ingest/push.ts';
import { parseReadings, type Reading } from '../domain/datapoints/ingest/reading.ts';
import type { Writer } from '../domain/datapoints/ingest/writer.ts';
import type { ContentHash } from '../domain/datapoints/publish-fingerprint.ts';
import { remembered } from '../domain/remembered.ts';
import type { AnswerOrder, AnswerPlace } from './answer-order.ts';
import { PacketReader } from './packet-reader.ts';
import type { PacketFrame } from './packets/packet-frame.ts';
import { readNext } from './packets/reading.ts';
import { jsonOfPayload, messageOfBareNumber, withoutNuls } from './payload.ts';
import { acknowledgements, BufferedMessage, PublishGroup } from './publish-group.ts';
import type { DuplicateDetector } from './repeats/duplicate-detector.ts';
import { type Fingerprint, publishFingerprint, topicHash } from './repeats/fingerprint.ts';
import type { ClientSession } from './sessions.ts';
import type { BrokerCounts } from './sys/broker-counts.ts';
import { parseTopic, withoutSlash } from './topics.ts';

/** Fields of aedes's connection that its types do not declare. */
interface AedesConnection {
  readonly closed: boolean;
  readonly conn: {
    write(bytes: Uint8Array): boolean;
    readonly destroyed: boolean;
    once(event: 'close', listener: () => void): void;
    removeListener(event: 'close', listener: () => void): void;
  };
  /** Packets being processed; nothing more is read while there are any. */
  _parsingBatch: number;
  readonly _keepaliveInterval: number;
  readonly _keepaliveTimer: { refresh(): void } | null;
  waitForDrain(done: (error?: Error | null) => void): void;
}

/** The topic of a sensor. */
interface SensorTopic {
  readonly device: string;
  readonly sensor: string;
  readonly many: boolean;
  readonly hash: ContentHash;
}

export interface FastPathParts {
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

export class FastPath {
  readonly #parts: FastPathParts;
  readonly #topics = new LruCache<string, SensorTopic | 'unusual'>({
    weightMax: limits.topicsCachedBytesMax,
    pool: remembered,
    entriesMax: limits.topicsCachedMax,
    weigh: (_, topic) => 2 * entryBytes + textHeapBytes(topic),
  });

  readonly #reader: PacketReader<PublishGroup>;
  /** Connections that wait for room, and what keeps them alive meanwhile. */
  readonly #waiting = new Set<AedesConnection>();
  #alive: NodeJS.Timeout | undefined;

  constructor(parts: FastPathParts) {
    this.#parts = parts;
    this.#reader = new PacketReader({
      callerOf: parts.callerOf,
      groupOf: (client, bytes) => {
        const session = parts.sessionOf(client);
        return session === undefined ? undefined : new PublishGroup(session, bytes);
      },
      add: (group, frame) => this.#add(group, frame),
      mayHaveCapacity: (client) => parts.writer.mayHaveCapacity(parts.callerOf(client)),
      onceCapacity: (client, waiting) => this.#onceCapacity(client, waiting),
      counts: parts.counts,
      submit: (client, group) => this.#submit(client as unknown as AedesConnection, group),
    });
  }

  /** Whether part of a packet has arrived from the client. */
  hasBegun(client: Client): boolean {
    return this.#reader.hasBegun(client);
  }

  /** Passes the client's bytes through the fast path first. */
  attach(client: Client): void {
    this.#reader.attach(client);
  }

  /** Adds a usual message to the group; false when it is not usual. */
  #add(group: PublishGroup, frame: PacketFrame): boolean {
    // Only without DUP and RETAIN, and with QoS 0 or 1.
    if (!frame.isPublish || (frame.flags & 0b1101) !== 0) return false;
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
    if (readings === undefined && !topic.many) {
      const message = messageOfBareNumber(withoutNuls(bytes.subarray(start, end)));
      readings = message && readingsOf(message, { payloadStart: 0, end: message.length }, false);
      original = message && new BufferedMessage(message, 0, message.length, frame.qos as 0 | 1);
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
    original ??= new BufferedMessage(bytes, start, end, frame.qos as 0 | 1);
    const extras = { original, publish, many: topic.many };
    group.pushes.push(new Push(sensorRef, readings, this.#parts.clock.now(), extras));
    return true;
  }

  #submit(connection: AedesConnection, group: PublishGroup): 'busy' | undefined {
    const { length } = group.pushes;
    connection._parsingBatch += length;
    stayAlive(connection);
    this.#parts.begun();
    const { pubacks } = this.#parts.answers.of(connection as unknown as Client);
    const place = group.packetIds.length === 0 ? undefined : pubacks.open();
    // Only a refusal at once means that nothing of it is in the queue.
    let isAtOnce = true;
    let isRefused = false;
    this.#parts.ingest.submitAll(group.session.actor.caller, group.pushes, (failure) => {
      this.#ended(group.pushes, failure);
      isRefused = isAtOnce && isBusy(failure);
      if (isRefused) {
        connection._parsingBatch -= length;
        this.#parts.ended();
        place?.end();
      } else if (failure === undefined) this.#acknowledge(connection, group, place);
      else this.#fail(connection, group, failure as Error);
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

  /** Has a connection wait in line, in which the server's lack of room must not count as its silence. */
  #onceCapacity(
    client: Client,
    { wasResumed, resume }: { readonly wasResumed: boolean; readonly resume: () => void },
  ): void {
    const connection = client as unknown as AedesConnection;
    const { conn } = connection;
    if (connection.closed || conn.destroyed) return;
    const end = () => {
      leaveLine();
      this.#waiting.delete(connection);
    };
    const leaveLine = this.#parts.writer.onceCapacity(this.#parts.callerOf(client), {
      wasResumed,
      resume: () => {
        conn.removeListener('close', end);
        this.#waiting.delete(connection);
        resume();
      },
    });
    conn.once('close', end);
    this.#waiting.add(connection);
    this.#alive ??= setInterval(() => this.#keepAlive(), limits.waitingAliveMs).unref();
  }

  #keepAlive(): void {
    for (const connection of this.#waiting) stayAlive(connection);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#alive);
    this.#alive = undefined;
  }

  /** One write for all messages of this connection in the commit; reads on when the client has read enough. */
  #acknowledge(connection: AedesConnection, group: PublishGroup, place: AnswerPlace | undefined): void {
    this.#parts.ended();
    if (connection.closed || connection.conn.destroyed) return;
    const next = () => this.#goOn(connection, group);
    if (place === undefined) next();
    else {
      place.end(() => {
        if (connection.closed || connection.conn.destroyed) return;
        if (connection.conn.write(acknowledgements(group.packetIds))) next();
        else connection.waitForDrain((error) => (error ? undefined : next()));
      });
    }
  }

  #goOn(connection: AedesConnection, group: PublishGroup): void {
    connection._parsingBatch -= group.pushes.length - 1;
    readNext(connection as unknown as Client);
  }

  /** Cuts the client: messages that were not stored are not acknowledged, and are sent again. */
  #fail(connection: AedesConnection, group: PublishGroup, error: Error): void {
    this.#parts.failed(group.session, error);
    this.#parts.ended();
    if (!connection.closed) readNext(connection as unknown as Client, error);
  }

  #topicOf(bytes: Buffer, { topicStart, topicEnd }: PacketFrame): SensorTopic | 'unusual' {
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
  { payloadStart, end }: Pick<PacketFrame, 'payloadStart' | 'end'>,
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

/** As aedes does for each packet. */
function stayAlive(connection: AedesConnection): void {
  if (connection._keepaliveInterval > 0) connection._keepaliveTimer?.refresh();
}

function isBusy(failure: unknown): boolean {
  return failure instanceof Refusal && failure.code === 'busy';
}
