// Live streams: sends everything that is committed for a device to its readers (contract 10). Takes it from the feed,
// and there only enqueues (I4). Each delivery asks the permission function for the present actor (I6). A stream ends
// with a reason when its reader is too slow, or its token, permission or device ends.

import { Refusal } from '../../base/refusal.ts';
import type { Caller } from '../callers/caller.ts';
import { FairShare } from '../callers/fair-share.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import type { Committed, CommittedPush, Feed } from '../datapoints/feed.ts';
import type { DeviceKey } from '../device-key.ts';
import { calibrate } from '../devices/calibration.ts';
import type { Device, DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Series } from '../ports/series.ts';
import { scope } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { LiveEvent, LivePoint, ResumePoint } from './live-event.ts';
import { missedSince } from './missed.ts';

export interface LiveBounds {
  readonly liveStreamsMax: number;
  readonly liveStreamsReserve: number;
  readonly liveBytesMax: number;
  readonly liveBytesAllMax: number;
  readonly liveBytesReserve: number;
  readonly liveMissedBytesMax: number;
  readonly liveHeartbeatMs: number;
}

export interface LiveRequest {
  readonly device: DeviceId;
  /** Returns the actor with present rights. @throws Refusal `unauthenticated` */
  readonly actorNow: () => Promise<Actor>;
  readonly calibrated: boolean;
  /** The last datapoint that the reader has, if it was connected before. */
  readonly last: ResumePoint | undefined;
}

/** Events sent in one step. */
const stepEvents = 500;

export class Live {
  readonly #feed: Feed;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #series: Pick<Series, 'latest' | 'range'>;
  readonly #bounds: LiveBounds;
  /** By key, because a device may get another id while it is read. */
  readonly #streams = new Map<DeviceKey, Set<LiveStream>>();
  readonly #streamShare: FairShare;
  readonly #byteShare: FairShare;
  #count = 0;

  constructor(parts: {
    readonly feed: Feed;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly series: Pick<Series, 'latest' | 'range'>;
    readonly bounds: LiveBounds;
    /** The memory for all data on its way in or out. */
    readonly passing?: FairShare;
  }) {
    this.#feed = parts.feed;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#series = parts.series;
    const { bounds } = parts;
    this.#bounds = bounds;
    this.#streamShare = new FairShare('liveStreams', {
      aloneMax: bounds.liveStreamsMax,
      reserve: bounds.liveStreamsReserve,
    });
    this.#byteShare = new FairShare('liveBytes', {
      aloneMax: bounds.liveBytesAllMax,
      reserve: bounds.liveBytesReserve,
      within: parts.passing,
    });
  }

  /** Subscribes to the feed. */
  start(): void {
    this.#feed.subscribe((committed) => {
      const streams = this.#count === 0 ? undefined : this.#streams.get(committed.device.key);
      if (streams !== undefined) for (const stream of streams) stream.take(committed);
    });
  }

  /** Ends all streams with a reason. */
  close(): void {
    for (const streams of this.#streams.values()) {
      for (const stream of streams) stream.end('The service is stopping. Come back shortly.');
    }
  }

  /** Checks whether a stream may be opened. @throws Refusal `not-found`, `forbidden`. */
  async permit({ device: id, actorNow }: Pick<LiveRequest, 'device' | 'actorNow'>): Promise<Device> {
    const device = await this.#directory.get(id);
    this.#permissions.require(await actorNow(), device, scope.dataView);
    return device;
  }

  /** @throws Refusal `not-found`, `forbidden`; `too-many`, `busy` where there are too many streams. */
  async open(request: LiveRequest): Promise<LiveStream> {
    const device = await this.permit(request);
    const { caller } = await request.actorNow();
    this.#countIn(caller);
    const stream: LiveStream = new LiveStream({
      caller,
      bytesMax: this.#bounds.liveBytesMax,
      missedBytesMax: this.#bounds.liveMissedBytesMax,
      heartbeatMs: this.#bounds.liveHeartbeatMs,
      byteShare: this.#byteShare,
      onEnd: () => this.#countOut(device.key, stream),
      missed: () => this.#missed(device, request, caller),
      toEvents: (committed) => this.#toEvents(device, request, committed),
    });
    const streams = this.#streams.get(device.key) ?? new Set();
    this.#streams.set(device.key, streams.add(stream));
    return stream;
  }

  /**
   * The events for a committed push or setting, if the reader may still have them. Undefined: only checks. @throws
   * Refusal where the reader may not have them.
   */
  async #toEvents(opened: Device, request: LiveRequest, committed: Committed | undefined): Promise<LiveEvent[]> {
    const device = await this.#directory.find(opened.id);
    if (device?.key !== opened.key) throw new Refusal('not-found', `The device ${opened.id} was removed.`);
    this.#permissions.require(await request.actorNow(), device, scope.dataView);
    // Another device may have the id of a removed one.
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

  async #missed(device: Device, { last, calibrated }: LiveRequest, caller: Caller): Promise<LiveEvent[]> {
    return last === undefined ? [] : missedSince(this.#series, device, { last, calibrated, caller });
  }

  #countIn(caller: Caller): void {
    if (!this.#streamShare.allows(caller, 1) && !this.#freeSlotFor(caller)) {
      const isHeavy = this.#streamShare.heldBy(caller) > 0;
      throw isHeavy
        ? new Refusal('too-many', 'Live streams are scarce now, and you have your share. End some of yours.', {
            retryAfterS,
          })
        : new Refusal('busy', 'There are as many live streams as may be. Come back later.', { retryAfterS });
    }
    this.#streamShare.force(caller, 1);
    this.#count += 1;
  }

  /**
   * Ends the oldest stream of the caller with the most, if that caller has more than the new stream's caller would
   * have.
   */
  #freeSlotFor(newcomer: Caller): boolean {
    let heaviest: LiveStream | undefined;
    for (const streams of this.#streams.values()) {
      for (const stream of streams) {
        const most =
          heaviest === undefined ? this.#streamShare.heldBy(newcomer) + 1 : this.#streamShare.heldBy(heaviest.caller);
        if (this.#streamShare.heldBy(stream.caller) > most) heaviest = stream;
      }
    }
    heaviest?.cut('Live streams are scarce now, and you have most of them. Come back later.');
    return heaviest !== undefined;
  }

  #countOut(device: DeviceKey, stream: LiveStream): void {
    this.#count -= 1;
    this.#streamShare.release(stream.caller, 1);
    const streams = this.#streams.get(device);
    streams?.delete(stream);
    if (streams?.size === 0) this.#streams.delete(device);
  }
}

const retryAfterS = 30;

interface StreamParts {
  /** The caller whose share of streams, and of bytes waiting in them, it uses. */
  readonly caller: Caller;
  readonly bytesMax: number;
  /** What the datapoints may take that a reader missed while it was away. */
  readonly missedBytesMax: number;
  readonly heartbeatMs: number;
  readonly byteShare: FairShare;
  readonly onEnd: () => void;
  readonly missed: () => Promise<LiveEvent[]>;
  readonly toEvents: (committed: Committed | undefined) => Promise<LiveEvent[]>;
}

/** The stream of one reader. */
class LiveStream {
  readonly #parts: StreamParts;
  #queue: Committed[] = [];
  #bytes = 0;
  #reason: string | undefined;
  /** Why the reader may have no more events; sent after the events before it. */
  #failure: unknown;
  #isOver = false;
  /** True when its share of streams has been given back. */
  #isFree = false;
  #wake: () => void = () => {};

  constructor(parts: StreamParts) {
    this.#parts = parts;
  }

  get caller(): Caller {
    return this.#parts.caller;
  }

  /** Enqueues; ends the stream where too much waits already. */
  take(committed: Committed): void {
    if (this.#reason !== undefined || (committed.kind === 'sensor' && committed.readings.length === 0)) return;
    const { caller, bytesMax, byteShare } = this.#parts;
    const bytes = bytesOf(committed);
    const isTooMuch = this.#bytes + bytes > bytesMax || !byteShare.allows(caller, bytes);
    if (isTooMuch && this.#queue.length > 0) {
      this.#drop();
      this.end('You take less than comes in. Come back, or read what you missed as values.');
      return;
    }
    this.#queue.push(committed);
    this.#count(bytes);
    this.#wake();
  }

  /** Ends the stream with a reason, after everything that waits. Only the first reason counts. */
  end(reason: string): void {
    this.#reason ??= reason;
    this.#wake();
  }

  /** Ends the stream with a reason, and drops what waits. Its share is free at once, even if it is never read. */
  cut(reason: string): void {
    this.#reason ??= reason;
    this.#drop();
    this.#free();
    this.#wake();
  }

  /** Ends the stream because its reader has disconnected. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#reason ??= '';
    this.#drop();
    this.#free();
    this.#wake();
  }

  #free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    this.#parts.onEnd();
  }

  /** The events in steps; an empty step is a heartbeat. Iterate once. */
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
    const { caller, byteShare, missedBytesMax } = this.#parts;
    const all = await this.#parts.missed();
    const mayHold = all.length === 0 || byteShare.allows(caller, missedBytesMax);
    const missed: LiveEvent[] = mayHold ? all : [{ kind: 'gap' }];
    const sent = new Set(missed.map((event) => (event.kind === 'datapoint' ? event.point.seq : undefined)));
    if (missed.length > 0) {
      byteShare.force(caller, missedBytesMax);
      try {
        yield missed;
      } finally {
        byteShare.force(caller, -missedBytesMax);
      }
    }
    while (!this.#isOver) {
      if (this.#queue.length > 0) {
        // One push may go to hundreds of streams, each of which takes its turn.
        await loopTurns.turn(this.#parts.caller);
        const events = (await this.#nextEvents()).filter(
          (event) => event.kind !== 'datapoint' || !sent.has(event.point.seq),
        );
        for (let at = 0; at < events.length; at += stepEvents) yield events.slice(at, at + stepEvents);
        if (this.#failure !== undefined) throw this.#failure;
      } else if (this.#reason !== undefined) {
        yield [{ kind: 'end', reason: this.#reason }];
        return;
      } else if (await this.#isQuiet()) {
        // Checks the permission even when nothing came.
        yield await this.#parts.toEvents(undefined);
      }
    }
  }

  /** The next waiting events, about one step of them. */
  async #nextEvents(): Promise<LiveEvent[]> {
    const events: LiveEvent[] = [];
    for (let committed = this.#queue.shift(); committed !== undefined; committed = this.#queue.shift()) {
      this.#count(-bytesOf(committed));
      const more = await this.#parts.toEvents(committed).catch((error: unknown) => {
        if (events.length === 0) throw error;
        // Events before the refusal are still sent; the refusal follows them.
        this.#failure = error;
        return [];
      });
      // One push may have more events than fit into the arguments of a call.
      if (events.length === 0 && more.length >= stepEvents) return more;
      events.push(...more);
      if (events.length >= stepEvents || this.#failure !== undefined) break;
    }
    return events;
  }

  /** Waits for an event; true when none came until the next heartbeat. */
  #isQuiet(): Promise<boolean> {
    return new Promise((resolve) => {
      const heartbeat = setTimeout(() => resolve(true), this.#parts.heartbeatMs);
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
    this.#parts.byteShare.force(this.#parts.caller, bytes);
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

/** Estimated bytes in memory. */
function bytesOf(committed: Committed): number {
  if (committed.kind === 'actuator') return 200 + committed.valueJson.length * 2;
  let bytes = 200;
  for (const { value } of committed.readings) bytes += typeof value === 'number' ? 50 : 50 + value.length * 2;
  return bytes;
}
