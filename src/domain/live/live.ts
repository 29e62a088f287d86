// Live streams: what is committed for a device, handed on as it comes (contract 10), from the feed alone. Taking from
// the feed only enqueues (I4); each delivery asks the one permission function for the actor as they are then (I6). A
// stream whose reader is too slow is cut with a reason, and ends when its token, its right or its device does.
import { Refusal } from '../../base/refusal.ts';
import type { DatapointStore } from '../datapoints/datapoint-store.ts';
import type { Committed, CommittedPush, Feed } from '../datapoints/feed.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import { scope } from '../permissions/scopes.ts';
import { calibrate } from '../sensors/calibration.ts';
import type { Actor } from '../users/user.ts';
import type { LastHad, LiveEvent, LivePoint } from './live-event.ts';
import { missedSince } from './missed.ts';

export interface LiveBounds {
  readonly liveStreamsMax: number;
  readonly liveStreamsPerAddressMax: number;
  readonly liveBytesMax: number;
  readonly liveBytesAllMax: number;
  readonly liveHeartbeatMs: number;
}

export interface LiveRequest {
  readonly device: DeviceId;
  /** Whose streams are counted together. */
  readonly address: string;
  /** Who asks, as they are now. @throws Refusal `unauthenticated` */
  readonly actorNow: () => Promise<Actor>;
  readonly calibrated: boolean;
  /** Seq of the last datapoint that the reader has, if it was here before. */
  readonly last: LastHad | undefined;
}

/** Datapoints handed on in one step. */
const stepEvents = 500;

export class Live {
  readonly #feed: Feed;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #store: DatapointStore;
  readonly #bounds: LiveBounds;
  readonly #streams = new Map<DeviceId, Set<LiveStream>>();
  readonly #addresses = new Map<string, number>();
  /** Bytes that wait in all streams together. */
  readonly #waiting = { bytes: 0 };
  #count = 0;

  constructor(parts: {
    readonly feed: Feed;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly store: DatapointStore;
    readonly bounds: LiveBounds;
  }) {
    this.#feed = parts.feed;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#store = parts.store;
    this.#bounds = parts.bounds;
  }

  /** Follows the feed from now on. */
  start(): void {
    this.#feed.subscribe((committed) => {
      const streams = this.#count === 0 ? undefined : this.#streams.get(committed.device.id);
      if (streams !== undefined) for (const stream of streams) stream.take(committed);
    });
  }

  /** Ends all streams, each with a last word. */
  close(): void {
    for (const streams of this.#streams.values()) {
      for (const stream of streams) stream.end('The service is stopping. Come back shortly.');
    }
  }

  /** Says whether a stream would be given. @throws Refusal `not-found`, `forbidden`. */
  async permit({ device: id, actorNow }: Pick<LiveRequest, 'device' | 'actorNow'>): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(await actorNow(), device, scope.dataView);
    return device;
  }

  /** @throws Refusal `not-found`, `forbidden`; `too-many`, `busy` where there are too many streams. */
  async open(request: LiveRequest): Promise<LiveStream> {
    const device = await this.permit(request);
    this.#countIn(request.address);
    const stream: LiveStream = new LiveStream({
      bounds: this.#bounds,
      waiting: this.#waiting,
      onEnd: () => this.#countOut(request, stream),
      missed: () => this.#missed(device, request),
      toEvents: (committed) => this.#toEvents(device, request, committed),
    });
    const streams = this.#streams.get(request.device) ?? new Set();
    this.#streams.set(request.device, streams.add(stream));
    return stream;
  }

  /** What is handed on, if it still may be. @throws Refusal where it may not. */
  async #toEvents(opened: Device, request: LiveRequest, committed: Committed | undefined): Promise<LiveEvent[]> {
    const device = await this.#directory.find(opened.id);
    if (device?.key !== opened.key) throw new Refusal('not-found', `The device ${opened.id} was removed.`);
    this.#permissions.require(await request.actorNow(), device, scope.dataView);
    // A device that had this id before is another.
    if (committed === undefined || committed.device.key !== device.key) return [];
    if (committed.kind === 'actuator') {
      return [{ kind: 'actuator', actuator: committed.actuator.id, valueJson: committed.valueJson }];
    }
    const { id } = committed.sensor;
    const calibration = request.calibrated ? device.sensors.get(id)?.calibration : undefined;
    return pointsOf(committed).map((point) => ({
      kind: 'datapoint',
      sensor: id,
      point: calibration === undefined ? point : { ...point, value: calibrate(point.value, calibration) },
    }));
  }

  async #missed(device: Device, { last, calibrated }: LiveRequest): Promise<LiveEvent[]> {
    return last === undefined ? [] : missedSince(this.#store, device, { last, calibrated });
  }

  #countIn(address: string): void {
    const ofAddress = this.#addresses.get(address) ?? 0;
    if (ofAddress >= this.#bounds.liveStreamsPerAddressMax) {
      throw new Refusal('too-many', `An address may have ${ofAddress} live streams. End some of yours.`, {
        retryAfterS: 30,
      });
    }
    if (this.#count >= this.#bounds.liveStreamsMax) {
      throw new Refusal('busy', 'There are as many live streams as may be. Come back later.', { retryAfterS: 30 });
    }
    this.#addresses.set(address, ofAddress + 1);
    this.#count += 1;
  }

  #countOut({ device, address }: LiveRequest, stream: LiveStream): void {
    this.#count -= 1;
    const ofAddress = (this.#addresses.get(address) ?? 1) - 1;
    if (ofAddress > 0) this.#addresses.set(address, ofAddress);
    else this.#addresses.delete(address);
    const streams = this.#streams.get(device);
    streams?.delete(stream);
    if (streams?.size === 0) this.#streams.delete(device);
  }
}

interface StreamParts {
  readonly bounds: LiveBounds;
  /** Bytes that wait in all streams together. */
  readonly waiting: { bytes: number };
  readonly onEnd: () => void;
  readonly missed: () => Promise<LiveEvent[]>;
  readonly toEvents: (committed: Committed | undefined) => Promise<LiveEvent[]>;
}

/** One reader's stream. */
class LiveStream {
  readonly #parts: StreamParts;
  #queue: Committed[] = [];
  #bytes = 0;
  #reason: string | undefined;
  #isOver = false;
  #wake: () => void = () => {};

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  /** Enqueues; a reader that lets too much wait is cut. */
  take(committed: Committed): void {
    if (this.#reason !== undefined || (committed.kind === 'sensor' && committed.readings.length === 0)) return;
    const { bounds, waiting } = this.#parts;
    const bytes = bytesOf(committed);
    const isTooMuch = this.#bytes + bytes > bounds.liveBytesMax || waiting.bytes + bytes > bounds.liveBytesAllMax;
    if (isTooMuch && this.#queue.length > 0) {
      this.#drop();
      this.end('You take less than comes in. Come back, or read what you missed as values.');
      return;
    }
    this.#queue.push(committed);
    this.#bytes += bytes;
    waiting.bytes += bytes;
    this.#wake();
  }

  /** Ends the stream with a last word, after what waits. Once. */
  end(reason: string): void {
    this.#reason ??= reason;
    this.#wake();
  }

  /** Ends the stream because its reader is gone. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason ??= '';
    this.#drop();
    this.#parts.onEnd();
    this.#wake();
  }

  /** The events in steps; an empty step is a sign of life. Read once. */
  async *events(): AsyncGenerator<LiveEvent[]> {
    try {
      yield [];
      yield* this.#follow();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      yield [{ kind: 'end', reason: error.message }];
    } finally {
      this.leave();
    }
  }

  async *#follow(): AsyncGenerator<LiveEvent[]> {
    const missed = await this.#parts.missed();
    const sent = new Set(missed.map((event) => (event.kind === 'datapoint' ? event.point.seq : undefined)));
    if (missed.length > 0) yield missed;
    while (!this.#isOver) {
      const committed = this.#queue.shift();
      if (committed !== undefined) {
        this.#count(-bytesOf(committed));
        const events = (await this.#parts.toEvents(committed)).filter(
          (event) => event.kind !== 'datapoint' || !sent.has(event.point.seq),
        );
        for (let at = 0; at < events.length; at += stepEvents) yield events.slice(at, at + stepEvents);
      } else if (this.#reason !== undefined) {
        yield [{ kind: 'end', reason: this.#reason }];
        return;
      } else if (await this.#isQuiet()) {
        // Nothing came; that the reader may still be here is asked all the same.
        yield await this.#parts.toEvents(undefined);
      }
    }
  }

  /** Waits for something to happen; true when nothing did until the next heartbeat. */
  #isQuiet(): Promise<boolean> {
    return new Promise((resolve) => {
      const heartbeat = setTimeout(() => resolve(true), this.#parts.bounds.liveHeartbeatMs);
      heartbeat.unref();
      this.#wake = () => {
        clearTimeout(heartbeat);
        resolve(false);
      };
    });
  }

  #drop(): void {
    this.#queue = [];
    this.#count(-this.#bytes);
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    this.#parts.waiting.bytes += bytes;
  }
}

function pointsOf({ readings, firstSeq, receivedMs }: CommittedPush): LivePoint[] {
  return readings.map(({ value, timestampMs }, index) => ({
    seq: firstSeq + index,
    timestampMs: Number.isNaN(timestampMs) ? undefined : timestampMs,
    receivedMs,
    value,
  }));
}

/** About what it takes in memory. */
function bytesOf(committed: Committed): number {
  if (committed.kind === 'actuator') return 200 + committed.valueJson.length * 2;
  let bytes = 200;
  for (const { value } of committed.readings) bytes += typeof value === 'number' ? 50 : 50 + value.length * 2;
  return bytes;
}
