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
import type { PacketFrame } from './packets/packet-frame.ts';
import { holdReading, onceDone, readNext, readOn } from './packets/reading.ts';
import { acknowledgements, BufferedMessage, PublishGroup } from './publish-group.ts';
import type { Published } from './publishing.ts';
import type { ClientSession } from './sessions.ts';
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

  readonly #reader: PacketReader<PublishGroup>;
  /** Clients with a group that waits for room. */
  readonly #waiting = new WeakSet<Client>();

  constructor(parts: FastPathParts) {
    this.#parts = parts;
    this.#reader = new PacketReader({
      callerOf: parts.callerOf,
      groupOf: (client, bytes) => {
        const session = parts.sessionOf(client);
        return session === undefined ? undefined : new PublishGroup(session, bytes);
      },
      add: (group, frame) => this.#add(group, frame),
      isWaiting: (client) => this.#waiting.has(client),
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

  #submit(connection: AedesConnection, group: PublishGroup): void {
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
        this.#wait(connection, group);
      }
    });
  }

  #wait(connection: AedesConnection, group: PublishGroup): void {
    const client = connection as unknown as Client;
    this.#waiting.add(client);
    holdReading(client);
    const goOn = () => {
      this.#waiting.delete(client);
      readOn(client);
    };
    // Messages before it that the broker has may wait too, and go first.
    untilDone(connection)
      .then(() => this.#storeInPieces(group))
      .then(
        () => this.#acknowledge(connection, group, goOn),
        (error: Error) => this.#fail(connection, group, error),
      );
  }

  #ended(pushes: readonly Push[], failure: unknown): void {
    const nowMs = this.#parts.clock.now();
    for (const { publish } of pushes) {
      if (publish !== undefined) this.#parts.duplicates.end(publish, nowMs, failure);
    }
  }

  /**
   * While the queue is full, the messages of a group wait for room together, and go into it a few at a time, in order
   * (back-pressure): one by one, each refusal and each promise would cost more than storing its message. Nothing else is
   * taken from the connection meanwhile, which would overtake them (I3).
   */
  async #storeInPieces(group: PublishGroup): Promise<void> {
    const { actor } = group.session;
    const commits: Promise<unknown>[] = [];
    let at = 0;
    let pieceMax: number = limits.waitingPieceMax;
    try {
      for (let wasResumed = false; at < group.pushes.length; ) {
        if (!loopTurns.isOpen) await loopTurns.turn(actor.caller);
        const end = Math.min(at + pieceMax, group.pushes.length);
        const stored = loopTurns.do(actor.caller, () => this.#storePiece(group, at, end));
        if (stored === 'busy') {
          const bytes = limits.capacityWaiterBytes * (group.pushes.length - at) + group.bytes.length;
          // There may be room for fewer.
          pieceMax = Math.ceil(pieceMax / 2);
          await this.#parts.writer.waitForCapacity(actor.caller, { bytes, wasResumed });
          wasResumed = true;
          continue;
        }
        const from = at;
        at = end;
        pieceMax = limits.waitingPieceMax;
        wasResumed = false;
        if (stored === 'changed') await this.#decideAnew(group, from, end);
        else {
          // `all` takes it once the last piece is in the queue.
          stored.catch(() => {});
          commits.push(stored);
        }
      }
    } catch (error) {
      this.#ended(group.pushes.slice(at), error);
      throw error;
    }
    await Promise.all(commits);
  }

  /**
   * Stores some messages of a group; resolves after their commit. `busy`: there is no room for them. `changed`: a sensor
   * cannot be pushed to as before, for which the slow way has an answer.
   */
  #storePiece({ session, pushes }: PublishGroup, from: number, to: number): Promise<void> | 'busy' | 'changed' {
    const { ingest, clock } = this.#parts;
    const { actor } = session;
    const piece: Push[] = [];
    for (const push of pushes.slice(from, to)) {
      const sensorRef = ingest.peekSensor(actor, push.device.id, push.sensor.id);
      if (sensorRef === undefined) return 'changed';
      piece.push(new Push(sensorRef, push.readings, clock.now(), push));
    }
    // Only a refusal at once means that nothing of it is in the queue.
    let isAtOnce = true;
    let isRefused = false;
    const stored = new Promise<void>((resolve, reject) =>
      ingest.submitAll(actor.caller, piece, (failure) => {
        isRefused = isAtOnce && isBusy(failure);
        if (isRefused) return resolve();
        this.#ended(piece, failure);
        if (failure === undefined) resolve();
        else reject(failure);
      }),
    );
    isAtOnce = false;
    return isRefused ? 'busy' : stored;
  }

  /** Resolves when these messages may be acknowledged: before any behind them go on. */
  async #decideAnew(group: PublishGroup, from: number, to: number): Promise<void> {
    this.#ended(group.pushes.slice(from, to), new Refusal('busy', 'decided anew'));
    const { decide } = this.#parts;
    await Promise.all(group.published(from, to).map((published) => decide(group.session, published)));
  }

  /** One write for all messages of this connection in the commit. `next`: reads on when the client has read enough. */
  #acknowledge(connection: AedesConnection, group: PublishGroup, next = () => this.#goOn(connection, group)): void {
    this.#parts.ended();
    if (connection.closed || connection.conn.destroyed) return;
    if (group.packetIds.length === 0 || connection.conn.write(acknowledgements(group.packetIds))) next();
    else connection.waitForDrain((error) => (error ? undefined : next()));
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

/** Resolves when the broker has finished the packets that it has of a connection, or the connection is closed. */
function untilDone(connection: AedesConnection): Promise<void> {
  const { closed, conn } = connection;
  return new Promise((resolve) => {
    const end = () => {
      conn.removeListener('close', end);
      resolve();
    };
    if (closed || conn.destroyed) return resolve();
    conn.once('close', end);
    onceDone(connection as unknown as Client, end);
  });
}

function isBusy(failure: unknown): boolean {
  return failure instanceof Refusal && failure.code === 'busy';
}
