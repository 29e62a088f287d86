// What clients publish: sensor and actuator topics end in the domain, committed before the PUBACK (I1); what may not
// pass is dropped without a word to the sender, and noted for the device's owner. Everything else is relayed or not.
import type { Clock } from '../base/clock.ts';
import type { Json } from '../base/json.ts';
import { parseJsonText } from '../base/json-text.ts';
import { Refusal } from '../base/refusal.ts';
import { limits } from '../config/limits.ts';
import type { Actuators } from '../domain/actuators/actuators.ts';
import type { PublishMark } from '../domain/datapoints/datapoint-store.ts';
import type { OriginalMessage } from '../domain/datapoints/feed.ts';
import type { Ingest } from '../domain/datapoints/ingest.ts';
import { parseReadings } from '../domain/datapoints/reading.ts';
import type { Writer } from '../domain/datapoints/writer.ts';
import type { DeviceDirectory } from '../domain/devices/device-directory.ts';
import type { DropLog } from '../domain/devices/drop-log.ts';
import type { Actor } from '../domain/users/user.ts';
import type { Access } from './access.ts';
import { publishMark, type Repeats, sessionNumber } from './repeats.ts';
import type { Session } from './sessions.ts';
import { parseTopic, type Topic, withoutSlash } from './topics.ts';

/** A PUBLISH as the broker hands it over. */
export interface Published {
  readonly topic: string;
  readonly payload: string | Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
  readonly messageId?: number | undefined;
}

/** `taken`: the domain has it, or it was dropped; the broker must not route it. `relay`: the broker routes it. */
export type Verdict = 'taken' | 'relay';

export class Publishing {
  readonly #parts: PublishingParts;

  constructor(parts: PublishingParts) {
    this.#parts = parts;
  }

  /**
   * Decides about one PUBLISH; resolves after the commit where there is one.
   * @throws Refusal `storage` when it could not be stored: then there must be no PUBACK.
   */
  async decide(session: Session, published: Published): Promise<Verdict> {
    const topic = parseTopic(published.topic);
    if (topic.kind === 'sensor') await this.#toSensor(session, topic, published);
    else if (topic.kind === 'actuator') await this.#toActuator(session, topic, published);
    else if (this.#parts.access.mayRelay(session, topic)) return 'relay';
    return 'taken';
  }

  async #toSensor(session: Session, topic: Topic & { kind: 'sensor' }, published: Published): Promise<void> {
    const mark = this.#markOf(session, published);
    const repeated =
      published.dup && mark !== undefined ? this.#parts.repeats.find(mark, this.#parts.clock.now()) : undefined;
    if (repeated !== undefined) return repeated;
    const payload = bytesOf(published.payload);
    try {
      const body = parseJsonText(payload, limits.nestingLevelsMax);
      if (Array.isArray(body) && !topic.many) throw new Refusal('malformed', 'An array goes to the topic …/values.');
      const original: OriginalMessage = { payload, qos: published.qos, retain: published.retain };
      const push = {
        device: topic.device,
        sensor: topic.sensor,
        readings: parseReadings(body),
        original,
        publish: mark,
        many: topic.many,
      };
      const stored = this.#store(() => this.#parts.ingest.accept(session.actor, push));
      if (mark !== undefined) this.#parts.repeats.watch(mark, this.#parts.clock.now(), stored);
      await stored;
    } catch (error) {
      await this.#drop(error, topic.device, session.actor, published.topic);
    }
  }

  async #toActuator(session: Session, topic: Topic & { kind: 'actuator' }, published: Published): Promise<void> {
    const payload = bytesOf(published.payload);
    try {
      const value = parseJsonText(payload, limits.nestingLevelsMax) as Json;
      const original: OriginalMessage = { payload, qos: published.qos, retain: published.retain };
      await this.#store(() =>
        this.#parts.actuators.setValue(session.actor, topic.device, topic.actuator, value, original),
      );
    } catch (error) {
      await this.#drop(error, topic.device, session.actor, published.topic);
    }
  }

  /** While the queue is full the client waits: its next packets stay unread (back-pressure). */
  async #store(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== 'busy') throw error;
        await this.#parts.writer.room();
      }
    }
  }

  /** Keeps quiet towards the sender and tells the owner; what failed here and not there is passed on. */
  async #drop(error: unknown, deviceId: string, actor: Actor, topic: string): Promise<void> {
    const quiet = error instanceof Refusal && error.code !== 'storage' && error.code !== 'busy';
    if (!quiet) throw error;
    const device = await this.#parts.directory.find(deviceId);
    if (device !== undefined) {
      this.#parts.drops.note(device, { topic, username: actor.username, reason: error.message });
    }
  }

  #markOf(session: Session, published: Published): PublishMark | undefined {
    if (published.qos === 0 || published.messageId === undefined) return undefined;
    session.number ??= sessionNumber(session.actor.username, session.clientId);
    return publishMark(session.number, published.messageId, withoutSlash(published.topic), bytesOf(published.payload));
  }
}

export interface PublishingParts {
  readonly ingest: Ingest;
  readonly actuators: Actuators;
  readonly writer: Writer;
  readonly directory: DeviceDirectory;
  readonly drops: DropLog;
  readonly access: Access;
  readonly repeats: Repeats;
  readonly clock: Clock;
}

function bytesOf(payload: string | Buffer): Buffer {
  return typeof payload === 'string' ? Buffer.from(payload) : payload;
}
