// The fast path: takes usual PUBLISH packets straight from the buffer they were received in, and acknowledges them
// together after their commit (I1). Everything else goes on to the broker in its turn. Decides exactly as publishing.ts
// does, with less work: no packet objects, no promises, one write for the acknowledgements of a commit
// (docs/decisions/0006-fast-path.md).
import type { Client } from 'aedes';
import { entryBytes, textHeapBytes } from '../base/memory/heap-bytes.ts';
import { LruCache } from '../base/memory/lru-cache.ts';
import { Refusal } from '../base/refusal.ts';
import { parseJsonText } from '../base/text/json-text.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { Caller } from '../domain/callers/caller.ts';
import { loopTurns } from '../domain/callers/loop-turns.ts';
import type { PublishFingerprint } from '../domain/datapoints/datapoint-batch.ts';
import type { OriginalMessage } from '../domain/datapoints/feed.ts';
import type { Ingest } from '../domain/datapoints/ingest/ingest.ts';
import { parsePlainReading } from '../domain/datapoints/ingest/plain-reading.ts';
import { Push } from '../domain/datapoints/ingest/push.ts';
import { parseReadings, type Reading } from '../domain/datapoints/ingest/reading.ts';
import type { Writer } from '../domain/datapoints/ingest/writer.ts';
import { remembered } from '../domain/remembered.ts';
import {
  type DuplicateDetector,
  publishFingerprint,
  seedsOf,
  sessionNumber,
  type TopicSeeds,
} from './duplicate-detector.ts';
import { PacketReader } from './packet-reader.ts';
import { PacketFrame } from './packets/packet-frame.ts';
import { readNext } from './packets/reading.ts';
import type { Published } from './publishing.ts';
import type { ClientSession } from './sessions.ts';
import { parseTopic, withoutSlash } from './topics.ts';

/** Fields of aedes's connection that its types do not declare. */
interface AedesConnection {
  readonly closed: boolean;
  readonly conn: { write(bytes: Uint8Array): boolean; readonly destroyed: boolean };
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
  readonly seeds: TopicSeeds;
}

export interface FastPathParts {
  readonly ingest: Ingest;
  readonly writer: Writer;
  readonly duplicates: DuplicateDetector;
  readonly clock: Clock;
  readonly sessionOf: (client: Client) => ClientSession | undefined;
  /** Returns whose packets these are: the session's, before the sign-in the address. */
  readonly callerOf: (client: Client) => Caller;
  /** Decides about a message the slow way; resolves when it may be acknowledged. */
  readonly decide: (session: ClientSession, published: Published) => Promise<void>;
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

  readonly #reader: PacketReader<Group>;

  constructor(parts: FastPathParts) {
    this.#parts = parts;
    this.#reader = new PacketReader({
      callerOf: parts.callerOf,
      groupOf: (client, bytes) => {
        const session = parts.sessionOf(client);
        return session === undefined ? undefined : new Group(session, bytes);
      },
      add: (group, frame) => this.#add(group, frame),
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
  #add(group: Group, frame: PacketFrame): boolean {
    // Only without DUP and RETAIN, and with QoS 0 or 1.
    if (!frame.isPublish || (frame.flags & 0b1101) !== 0) return false;
    if (frame.qos === 1 && frame.packetId === 0) return false;
    const { bytes, session } = group;
    const topic = this.#topicOf(bytes, frame);
    if (topic === 'unusual') return false;
    const sensorRef = this.#parts.ingest.peekSensor(session.actor, topic.device, topic.sensor);
    if (sensorRef === undefined) return false;
    const readings = readingsOf(bytes, frame, topic.many);
    if (readings === undefined) return false;
    const { payloadStart: start, end, packetId } = frame;
    let publish: PublishFingerprint | undefined;
    if (frame.qos === 1) {
      session.number ??= sessionNumber(session.actor.userId, session.clientId);
      publish = publishFingerprint(session.number, packetId, topic.seeds, {
        part: sensorRef.sensor.key,
        bytes,
        start,
        end,
      });
      this.#parts.duplicates.begin(publish);
      group.packetIds.push(packetId);
    }
    const original = new BufferedMessage(bytes, start, end, frame.qos as 0 | 1);
    const extras = { original, publish, many: topic.many };
    group.pushes.push(new Push(sensorRef, readings, this.#parts.clock.now(), extras));
    group.starts.push(frame.start);
    return true;
  }

  #submit(connection: AedesConnection, group: Group): void {
    if (group.pushes.length === 0) return;
    connection._parsingBatch += group.pushes.length;
    if (connection._keepaliveInterval > 0) connection._keepaliveTimer?.refresh();
    this.#parts.begun();
    this.#parts.ingest.submitAll(group.session.actor.caller, group.pushes, (failure) => {
      if (failure === undefined) {
        this.#ended(group.pushes, undefined);
        this.#acknowledge(connection, group);
      } else if (!isBusy(failure)) {
        this.#ended(group.pushes, failure);
        this.#fail(connection, group, failure as Error);
      } else {
        this.#storeInPieces(group).then(
          () => this.#acknowledge(connection, group),
          (error: Error) => this.#fail(connection, group, error),
        );
      }
    });
  }

  #ended(pushes: readonly Push[], failure: unknown): void {
    const nowMs = this.#parts.clock.now();
    for (const { publish } of pushes) {
      if (publish !== undefined) this.#parts.duplicates.end(publish, nowMs, failure);
    }
  }

  /**
   * While the queue is full, the messages of a group wait for room together, and go into it a few at a time, in order
   * (back-pressure): one by one, each refusal and each promise would cost more than storing its message.
   */
  async #storeInPieces(group: Group): Promise<void> {
    const { actor } = group.session;
    const commits: Promise<unknown>[] = [];
    let wasResumed = false;
    for (let at = 0; at < group.pushes.length; ) {
      if (!loopTurns.isOpen) await loopTurns.turn(actor.caller);
      const end = Math.min(at + limits.waitingPieceMax, group.pushes.length);
      const outcome = loopTurns.do(actor.caller, () => this.#storePiece(group, at, end));
      if (outcome === 'busy') {
        const bytes = limits.capacityWaiterBytes * (group.pushes.length - at) + group.bytes.length;
        await this.#parts.writer.waitForCapacity(actor.caller, { bytes, wasResumed });
        wasResumed = true;
      } else {
        // `all` takes it once the last piece is in the queue.
        outcome.catch(() => {});
        commits.push(outcome);
        at = end;
        wasResumed = false;
      }
    }
    await Promise.all(commits);
  }

  /** Stores some messages of a group; resolves when they may be acknowledged. */
  #storePiece(group: Group, from: number, to: number): Promise<unknown> | 'busy' {
    const { ingest, clock, decide } = this.#parts;
    const { session, pushes } = group;
    const { actor } = session;
    const piece: Push[] = [];
    for (const push of pushes.slice(from, to)) {
      const sensorRef = ingest.peekSensor(actor, push.device.id, push.sensor.id);
      if (sensorRef !== undefined) piece.push(new Push(sensorRef, push.readings, clock.now(), push));
    }
    if (piece.length < to - from) {
      // Something has changed meanwhile, for which the slow way has an answer.
      this.#ended(pushes.slice(from, to), new Refusal('busy', 'decided anew'));
      return Promise.all(group.published(from, to).map((published) => decide(session, published)));
    }
    let isRefused = false;
    const stored = new Promise<void>((resolve, reject) =>
      ingest.submitAll(actor.caller, piece, (failure) => {
        isRefused = isBusy(failure);
        if (!isRefused) this.#ended(piece, failure);
        if (failure === undefined || isRefused) resolve();
        else reject(failure);
      }),
    );
    return isRefused ? 'busy' : stored;
  }

  /** One write for all messages of this connection in the commit. */
  #acknowledge(connection: AedesConnection, group: Group): void {
    const next = () => {
      connection._parsingBatch -= group.pushes.length - 1;
      readNext(connection as unknown as Client);
    };
    this.#parts.ended();
    if (connection.closed || connection.conn.destroyed) return;
    if (group.packetIds.length === 0 || connection.conn.write(acknowledgements(group.packetIds))) next();
    else connection.waitForDrain((error) => (error ? undefined : next()));
  }

  /** Cuts the client: messages that were not stored are not acknowledged, and are sent again. */
  #fail(connection: AedesConnection, group: Group, error: Error): void {
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
      topic = toSensorTopic(bytes.toString('utf8', topicStart, topicEnd));
      this.#topics.set(name, topic);
    }
    return topic;
  }
}

function toSensorTopic(text: string): SensorTopic | 'unusual' {
  const topic = parseTopic(text);
  if (topic.kind !== 'sensor') return 'unusual';
  const { device, sensor, many } = topic;
  return { device, sensor, many, seeds: seedsOf(withoutSlash(text)) };
}

function readingsOf(bytes: Buffer, { payloadStart, end }: PacketFrame, many: boolean): readonly Reading[] | undefined {
  const plain = parsePlainReading(bytes, payloadStart, end);
  if (plain !== undefined) return [plain];
  try {
    const body = parseJsonText(bytes.subarray(payloadStart, end), limits.nestingLevelsMax);
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

/** Consecutive PUBACK packets. */
function acknowledgements(packetIds: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(packetIds.length * 4);
  let at = 0;
  for (const id of packetIds) {
    bytes[at] = 0x40;
    bytes[at + 1] = 2;
    bytes[at + 2] = id >> 8;
    bytes[at + 3] = id & 0xff;
    at += 4;
  }
  return bytes;
}

/** The usual messages of one received chunk. */
class Group {
  readonly session: ClientSession;
  readonly bytes: Buffer;
  readonly pushes: Push[] = [];
  /** Packet ids of the messages with QoS 1, in order. */
  readonly packetIds: number[] = [];
  /** The offset of each packet. */
  readonly starts: number[] = [];

  constructor(session: ClientSession, bytes: Buffer) {
    this.session = session;
    this.bytes = bytes;
  }

  /** Some messages, in the form in which the broker hands them over. */
  published(from: number, to: number): Published[] {
    const frame = new PacketFrame();
    return this.starts.slice(from, to).map((start) => {
      frame.look(this.bytes, start);
      return {
        topic: this.bytes.toString('utf8', frame.topicStart, frame.topicEnd),
        payload: this.bytes.subarray(frame.payloadStart, frame.end),
        qos: frame.qos as 0 | 1,
        retain: false,
        dup: false,
        ...(frame.qos === 0 ? {} : { messageId: frame.packetId }),
      };
    });
  }
}

/** A message within the received buffer. */
class BufferedMessage implements OriginalMessage {
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #end: number;
  readonly qos: 0 | 1;
  readonly retain = false;

  constructor(buffer: Buffer, start: number, end: number, qos: 0 | 1) {
    this.#buffer = buffer;
    this.#start = start;
    this.#end = end;
    this.qos = qos;
  }

  get payload(): Uint8Array {
    return this.#buffer.subarray(this.#start, this.#end);
  }

  get bytes(): number {
    return this.#end - this.#start;
  }
}
