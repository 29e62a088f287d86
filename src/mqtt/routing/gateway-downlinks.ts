// Hands gateways what they missed (contract 6): when a client under a gateway's id subscribes, or its stored session is
// resumed, it is sent the last value of each of its devices' actuators that was set while it did not get it. One batch at a
// time, gateways in turns, so that memory and the event loop are bounded however many come back together (I4). Also
// notes which settings reached the device or its gateway. domain/actuators/downlinks.ts decides what is still young
// enough, and that nothing is given twice.
import type { Log } from '../../base/log.ts';
import type { Json } from '../../base/text/json.ts';
import { parseJsonText } from '../../base/text/json-text.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Downlinks, GatewayConnections, MissedValue } from '../../domain/actuators/downlinks.ts';
import type { Feed } from '../../domain/datapoints/feed.ts';
import type { Actuator } from '../../domain/devices/actuator.ts';
import type { Device } from '../../domain/devices/device.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';
import type { Downlink, SettingId } from '../../domain/devices/setting.ts';
import type { Gateway } from '../../domain/gateways/gateway.ts';
import type { Gateways } from '../../domain/gateways/gateways.ts';
import type { Permissions } from '../../domain/permissions/permission.ts';
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import type { Access } from '../access.ts';
import { withoutNuls } from '../payload.ts';
import type { ClientSession, Sessions } from '../sessions.ts';
import { actuatorTopic, parseTopic, type Topic } from '../topics.ts';
import { type MessageTopic, topicsOf } from './message-topics.ts';

/** A handover to one gateway that is under way. */
interface Handover {
  readonly session: ClientSession;
  /** Actuators of the gateway that were set since it began: what was set is delivered as to any subscriber. */
  readonly setMeanwhile: Set<number>;
  missed: AsyncGenerator<readonly MissedValue[]> | undefined;
  /** Whether the client has subscribed again since it began. */
  isRepeated: boolean;
  /** How often it was tried in vain. */
  failures: number;
}

export interface GatewayDownlinksParts {
  readonly downlinks: Downlinks;
  readonly directory: DeviceDirectory;
  readonly gateways: Gateways;
  readonly permissions: Permissions;
  readonly sessions: Sessions;
  readonly access: Access;
  readonly stored: Pick<MqttSessions, 'takes' | 'sessionOwner' | 'createRetainedStreamCombi'>;
  readonly log: Log;
  /** The clock by which former ids end. */
  readonly ages: Clock;
  /** Whether the delivery of a setting to subscribers has not ended. */
  readonly isUnderWay: (setting: SettingId) => boolean;
  /** Sends a message to one subscriber, with QoS 0. */
  readonly send: (session: ClientSession, message: { readonly topic: string; readonly payload: Buffer }) => void;
  /** Writes what was sent. */
  readonly flush: () => void;
}

export class GatewayDownlinks implements GatewayConnections {
  readonly #parts: GatewayDownlinksParts;
  /** Bounded by the number of connections. */
  readonly #handovers = new Map<ClientSession, Handover>();
  /** Those whose turn comes; the others wait for their sockets. */
  #turns: Handover[] = [];
  #running: Promise<void> | undefined;

  constructor(parts: GatewayDownlinksParts) {
    this.#parts = parts;
  }

  /** Subscribes to the feed; returns the function that ends it. */
  follow(feed: Feed): () => void {
    return feed.subscribe((committed) => {
      if (committed.kind !== 'actuator') return;
      const { device, actuator } = committed;
      const session = device.gatewayId === undefined ? undefined : this.#parts.sessions.holderOf(device.gatewayId);
      const handover = session && this.#handovers.get(session);
      // What it is not subscribed to yet is not delivered to it: a later batch may have it.
      if (session === undefined || handover === undefined) return;
      if (this.#topicsFor(session, device, actuator).length > 0) handover.setMeanwhile.add(actuator.key);
    });
  }

  downlinkOf(device: Device, actuator: Actuator, qos: 0 | 1 | 2): Downlink {
    const { gateways, sessions, stored } = this.#parts;
    const gateway = device.gatewayId === undefined ? undefined : gateways.peek(device.gatewayId);
    if (gateway === undefined) return 'pending';
    const session = sessions.holderOf(gateway.id);
    if (session !== undefined) return this.#isListening(session, device, actuator) ? 'none' : 'pending';
    if (qos === 0 || stored.sessionOwner(gateway.id) === undefined) return 'pending';
    const topics = this.#topicsOf(device, actuator);
    return topics.some((each) => stored.takes(gateway.id, each)) ? 'queued' : 'pending';
  }

  /** What waited in the stored session has been sent to the client. */
  async resumed(session: ClientSession | undefined, replayed: readonly number[]): Promise<void> {
    await this.#parts.downlinks.noteReplayed(replayed);
    this.subscribed(session);
  }

  /** The client has subscribed, or its stored session is resumed. */
  subscribed(session: ClientSession | undefined): void {
    if (session === undefined || session.replay !== undefined || session.filters.size === 0) return;
    const known = this.#handovers.get(session);
    if (known !== undefined) known.isRepeated = true;
    else {
      const handover = { session, setMeanwhile: new Set<number>(), missed: undefined, isRepeated: false, failures: 0 };
      this.#handovers.set(session, handover);
      this.#takeTurn(handover);
    }
  }

  /** Call when the client has gone. */
  released(session: ClientSession): void {
    this.#handovers.delete(session);
  }

  /** A setting was handed to a subscriber: delivered, where that is the gateway, or may set the device of no gateway. */
  handed(session: ClientSession, setting: SettingId, topic: Topic): void {
    const device = topic.kind === 'actuator' ? this.#parts.directory.peek(topic.device) : undefined;
    // Messages are still handed to a client that has gone a moment ago.
    if (device === undefined || !this.#isOpen(session)) return;
    const { gateways } = this.#parts;
    const known = device.gatewayId === undefined ? undefined : gateways.peek(device.gatewayId);
    // The gateway itself is in memory while its client is connected, so that what it was handed is known at once.
    if (device.gatewayId === undefined || known !== undefined) this.#noteHanded(session, setting, device, known);
    else {
      const found = gateways.find(device.gatewayId);
      // Where that fails, the setting is shown as not delivered.
      found.then((gateway) => this.#noteHanded(session, setting, device, gateway)).catch(() => {});
    }
  }

  #noteHanded(session: ClientSession, setting: SettingId, device: Device, gateway: Gateway | undefined): void {
    const { permissions, downlinks } = this.#parts;
    const isDelivered =
      gateway === undefined
        ? permissions.maySetActuators(session.actor, device)
        : session.clientId === gateway.id && permissions.mayActFor(session.actor, gateway);
    if (isDelivered) downlinks.noteDelivered(setting);
  }

  /**
   * Whether a message that waits in a stored session may still be given to it: to a gateway none that opens a valve days
   * later, whether or not it was sent to a connection that was dead already.
   */
  async mayReplay(session: ClientSession | undefined, topic: string): Promise<boolean> {
    const parsed = parseTopic(topic);
    if (session === undefined || parsed.kind !== 'actuator') return true;
    const device = await this.#parts.directory.find(parsed.device);
    const actuator = device?.actuators.get(parsed.actuator);
    if (actuator === undefined || device?.gatewayId !== session.clientId || !this.#isGateway(session)) return true;
    if (!(await this.#parts.downlinks.mayReplay(actuator))) return false;
    session.replay?.actuators.add(actuator.key);
    return true;
  }

  /** Whether a retained message of an actuator contradicts its present value, which its gateway is given instead. */
  isOutdated(
    session: ClientSession,
    { topic, payload }: { readonly topic: string; readonly payload: unknown },
  ): boolean {
    const parsed = parseTopic(topic);
    if (parsed.kind !== 'actuator') return false;
    const device = this.#parts.directory.peek(parsed.device);
    if (device === undefined || device.gatewayId !== session.clientId || !this.#isGateway(session)) return false;
    const valueJson = device.actuators.get(parsed.actuator)?.valueJson;
    return valueJson !== undefined && canonical(payload) !== valueJson;
  }

  /** Resolves when no handover is under way. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    await this.#parts.downlinks.idle();
  }

  #isGateway(session: ClientSession): boolean {
    const gateway = this.#parts.gateways.peek(session.clientId);
    return gateway !== undefined && this.#parts.permissions.mayActFor(session.actor, gateway);
  }

  #isListening(session: ClientSession, device: Device, actuator: Actuator): boolean {
    return this.#isOpen(session) && this.#isGateway(session) && this.#topicsFor(session, device, actuator).length > 0;
  }

  #isOpen(session: ClientSession): boolean {
    const { client } = session;
    return !session.isReleased && !client.closed && !client.conn.destroyed && this.#parts.sessions.isOpen(session);
  }

  /** The forms of the topic in which the session may have the value now. */
  #topicsFor(session: ClientSession, device: Device, actuator: Actuator): string[] {
    const { access } = this.#parts;
    const topics = this.#topicsOf(device, actuator);
    return topics.flatMap(({ topic, exactLevels }) =>
      access.grantedQos(session, topic, { exactLevels, device }) === undefined ? [] : [topic],
    );
  }

  /** Those of former ids too: a gateway in the field subscribes to what it was configured with. */
  #topicsOf(device: Device, actuator: Actuator): MessageTopic[] {
    return topicsOf({ kind: 'actuator', actuator }, device, () => this.#parts.ages.now());
  }

  #takeTurn(handover: Handover): void {
    this.#turns.push(handover);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    for (let handover = this.#turns.shift(); handover !== undefined; handover = this.#turns.shift()) {
      const { session } = handover;
      const hasMore = await this.#step(handover).catch((error: unknown) => {
        this.#parts.log.warn({ client: session.clientId, err: error }, 'a gateway was not given what it missed');
        return this.#tryLater(handover);
      });
      if (hasMore === 'later') continue;
      if (!hasMore || !this.#isOpen(session)) this.#handovers.delete(session);
      else if (session.client.conn.writableNeedDrain) session.client.waitForDrain(() => this.#takeTurn(handover));
      else this.#turns.push(handover);
    }
    this.#running = undefined;
  }

  /** Begins the handover anew after a while: the store may have been busy. False when that was done often enough. */
  #tryLater(handover: Handover): 'later' | false {
    handover.missed = undefined;
    handover.failures += 1;
    if (handover.failures > limits.downlinkRetriesMax) return false;
    const again = () => {
      if (this.#handovers.get(handover.session) === handover) this.#takeTurn(handover);
    };
    setTimeout(again, limits.downlinkRetryMs).unref();
    return 'later';
  }

  /** Hands over one batch; false when there is no more. */
  async #step(handover: Handover): Promise<boolean> {
    const { session } = handover;
    const { gateways, downlinks } = this.#parts;
    await gateways.find(session.clientId);
    if (!this.#isOpen(session) || !this.#isGateway(session)) return false;
    const withQueued = !session.isResumed;
    handover.missed ??= downlinks.missedBy(session.clientId, { withQueued, caller: session.actor.caller });
    const { value: missed } = await handover.missed.next();
    if (missed !== undefined) {
      await this.#give(handover, missed);
      return this.#isOpen(session);
    }
    handover.missed = undefined;
    const { isRepeated } = handover;
    handover.isRepeated = false;
    return isRepeated;
  }

  async #give({ session, setMeanwhile }: Handover, missed: readonly MissedValue[]): Promise<void> {
    const { downlinks, send, flush, isUnderWay } = this.#parts;
    const wanted = missed.filter(({ device, actuator }) => this.#topicsFor(session, device, actuator).length > 0);
    const retained = new Set<MissedValue>();
    if (!session.isResumed) for (const value of wanted) if (await this.#isRetained(value)) retained.add(value);
    // Otherwise values that were queued for its stored session since it has gone would be taken out of those.
    if (!this.#isOpen(session)) return;
    const unsent: MissedValue[] = [];
    for (const value of await downlinks.claim(wanted)) {
      const { setting, device, actuator } = value;
      // It is delivered as to any subscriber, or was, since it was found.
      if (setMeanwhile.has(actuator.key) || isUnderWay(setting.id) || downlinks.isNoted(setting.id)) continue;
      const topics = this.#isOpen(session) ? this.#topicsFor(session, device, actuator) : [];
      if (topics.length === 0) {
        unsent.push(value);
        continue;
      }
      const payload = Buffer.from(setting.valueJson);
      // Subscribing has given it the retained message already.
      if (!retained.has(value)) for (const topic of topics) send(session, { topic, payload });
      downlinks.noteDelivered(setting.id);
    }
    flush();
    await downlinks.giveBack(unsent);
  }

  async #isRetained({ setting, device, actuator }: MissedValue): Promise<boolean> {
    const messages = this.#parts.stored.createRetainedStreamCombi([actuatorTopic(device.id, actuator.id)]);
    for await (const { payload } of messages as AsyncIterable<{ readonly payload?: unknown }>)
      if (canonical(payload) === setting.valueJson) return true;
    return false;
  }
}

/** The JSON of a payload as values are stored; undefined where it is none. */
function canonical(payload: unknown): string | undefined {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : (payload as Buffer);
  try {
    return JSON.stringify(parseJsonText(withoutNuls(bytes), limits.nestingLevelsMax) as Json);
  } catch {
    return undefined;
  }
}
