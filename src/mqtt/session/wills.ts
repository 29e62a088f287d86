// Wills: published when a connection ends without DISCONNECT, of version 5 after the delay that it asked for, unless its client
// comes back before [MQTT-3.1.3-9]; and those of a run of the service that ended without publishing them, by the next one, which
// waits for what is left of the delay. Each is deleted from the store behind its publication. Those that wait are as many as
// stored sessions; of an earlier run's no more than who left them is in memory (I4).
import type { Log } from '../../base/log.ts';
import { limits } from '../../config/limits.ts';
import type { MqttSessions, StoredPacket } from '../../domain/ports/mqtt-sessions.ts';
import type { ClientSession } from '../sessions.ts';
import type { Will } from './will.ts';

export interface WillsParts {
  readonly stored: Pick<MqttSessions, 'streamWill' | 'getWill' | 'delWill' | 'findSession'>;
  /** The id under which this run stores wills. */
  readonly brokerId: string;
  readonly publish: (will: Will, session: ClientSession | undefined) => Promise<void>;
  readonly sessionOf: (clientId: string) => ClientSession | undefined;
  /** The clock by which they wait. */
  readonly nowMs: () => number;
  readonly log: Log;
}

/** A will that waits whether its client comes back. */
interface Delayed {
  /** Undefined for one of an earlier run, which is in the store alone. */
  readonly will: Will | undefined;
  /** The run that stored it. */
  readonly brokerId: string | undefined;
  readonly dueMs: number;
}

export class Wills {
  readonly #parts: WillsParts;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #looking: Promise<void> | undefined;
  readonly #underWay = new Set<Promise<void>>();
  /** By client id, of connections: a later one may have stored another while this one is being published. */
  readonly #kept = new Map<string, Will>();
  /** By client id. */
  readonly #delayed = new Map<string, Delayed>();
  /** Those of other runs that were deleted since the look for such began that is under way: it may have read them before. */
  readonly #gone = new Set<string>();
  /** Resolves when those of earlier runs are known that wait. */
  #known: Promise<void> = Promise.resolve();
  #delayTimer: NodeJS.Timeout | undefined;

  constructor(parts: WillsParts) {
    this.#parts = parts;
  }

  /** The will that is stored for a client from now on; undefined: none. */
  noteKept(clientId: string, will: Will | undefined): void {
    if (will === undefined) this.#kept.delete(clientId);
    else this.#kept.set(clientId, will);
  }

  start(): void {
    this.#known = this.#eachLost(async (will) => void this.#noteWaiting(will)).catch((err: unknown) =>
      this.#notFound(err),
    );
    this.#timer = setInterval(() => {
      this.#looking ??= this.#publishLost()
        .catch((err: unknown) => this.#notFound(err))
        .finally(() => {
          this.#looking = undefined;
        });
    }, limits.lostWillsEveryMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#delayTimer);
    this.#isClosed = true;
  }

  /** Resolves when no will is being published. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  /** Publishes the will of a connection that has ended. */
  publish(will: Will, session: ClientSession | undefined): void {
    this.#underWayUntil(this.#publish(will, session));
  }

  #underWayUntil(work: Promise<void>): void {
    const published = work.catch(() => {});
    this.#underWay.add(published);
    void published.then(() => this.#underWay.delete(published));
  }

  /** Publishes the will after so many milliseconds, unless its client comes back. */
  delay(clientId: string, will: Will, delayMs: number): void {
    this.#delayed.set(clientId, { will, brokerId: will.brokerId, dueMs: this.#parts.nowMs() + delayMs });
    this.#lookLater();
  }

  /**
   * A client has come back: what waited for that is not published; but where it begins anew, its earlier session has ended, and
   * with it the delay. Resolves when it is published then.
   */
  async cameBack(clientId: string, { isFresh }: { readonly isFresh: boolean }): Promise<void> {
    await this.#known;
    const delayed = this.#delayed.get(clientId);
    if (delayed === undefined) return;
    await this.#end(clientId, delayed, (will) => (isFresh ? this.#publish(will, undefined) : this.#forget(will)));
  }

  #lookLater(): void {
    if (this.#isClosed || this.#delayed.size === 0) return;
    this.#delayTimer ??= setTimeout(() => {
      this.#delayTimer = undefined;
      const nowMs = this.#parts.nowMs();
      for (const [clientId, delayed] of this.#delayed) {
        if (delayed.dueMs > nowMs) continue;
        this.#underWayUntil(this.#end(clientId, delayed, (will) => this.#publish(will, undefined)));
      }
      this.#lookLater();
    }, limits.willDelayLookMs).unref();
  }

  /** The will is not published: its sign-in has ended. */
  drop(will: Will): void {
    this.#forget(will).catch(() => {});
  }

  async #publish(will: Will, session: ClientSession | undefined): Promise<void> {
    await this.#parts.publish(will, session);
    await this.#forget(will);
  }

  /** Deletes what is stored of a will. */
  async #forget(will: Will): Promise<void> {
    const { clientId: id = '', brokerId } = will;
    // It was not stored.
    if (brokerId === undefined) return;
    const kept = this.#kept.get(id);
    // The row is that of a later connection.
    if (kept !== undefined && kept !== will && brokerId === this.#parts.brokerId) return;
    if (kept === will) this.#kept.delete(id);
    await this.#parts.stored.delWill({ id, brokerId });
    if (brokerId !== this.#parts.brokerId) this.#gone.add(keyOf(will));
  }

  /** A will waits no more. It is known until that is done, so that it is not taken for one that never waited. */
  async #end(clientId: string, delayed: Delayed, take: (will: Will) => Promise<void>): Promise<void> {
    const ending = { ...delayed, dueMs: Number.POSITIVE_INFINITY };
    this.#delayed.set(clientId, ending);
    try {
      const will = await this.#willOf(clientId, delayed);
      if (will !== undefined) await take(will);
    } catch {
      // It is in the store still, for the next run.
    } finally {
      if (this.#delayed.get(clientId) === ending) this.#delayed.delete(clientId);
    }
  }

  async #willOf(id: string, { will, brokerId }: Delayed): Promise<Will | undefined> {
    if (will !== undefined || brokerId === undefined) return will;
    const stored = await this.#parts.stored.getWill({ id, brokerId });
    return stored === undefined ? undefined : toWill({ ...stored, clientId: id, brokerId });
  }

  async #publishLost(): Promise<void> {
    this.#gone.clear();
    await this.#eachLost(async (will) => {
      if (this.#isWaiting(will) || this.#gone.has(keyOf(will))) return;
      const session = this.#parts.sessionOf(will.clientId ?? '');
      const isBack = session !== undefined && session.actor.key === will.user && !session.client.isFresh;
      // Of a process that has died; its client is with this one.
      if (isBack && (will.delayS ?? 0) > 0) await this.#forget(will);
      else if (session !== undefined || !this.#noteWaiting(will)) await this.#publish(will, session);
    });
  }

  #isWaiting({ clientId = '', brokerId }: Will): boolean {
    return this.#delayed.get(clientId)?.brokerId === brokerId;
  }

  async #eachLost(take: (will: Will) => Promise<unknown>): Promise<void> {
    const { stored, brokerId } = this.#parts;
    for await (const will of stored.streamWill({ [brokerId]: true })) await take(toWill(will as StoredPacket));
  }

  /**
   * A will of an earlier run waits for its client: for what is left of its delay since that has gone, or since the run ended,
   * while its session is kept. @returns whether it does.
   */
  #noteWaiting({ clientId = '', brokerId, delayS = 0, user }: Will): boolean {
    const { stored, nowMs } = this.#parts;
    const session = stored.findSession(clientId);
    if (delayS === 0 || session === undefined || session.user !== user) return false;
    const { awayMs = nowMs(), expiresMs = Number.POSITIVE_INFINITY } = session;
    const dueMs = Math.min(awayMs + delayS * 1_000, expiresMs);
    if (dueMs <= nowMs()) return false;
    this.#delayed.set(clientId, { will: undefined, brokerId, dueMs });
    this.#lookLater();
    return true;
  }

  #notFound(err: unknown): void {
    this.#parts.log.error({ err }, 'publishing wills of an earlier run failed');
  }
}

/** The run that stored it, and its client. */
function keyOf({ brokerId, clientId }: Will): string {
  return `${brokerId} ${clientId}`;
}

/** From its row. */
function toWill(stored: StoredPacket): Will {
  return { ...(stored as unknown as Will), payload: Buffer.from(stored.payload ?? '') };
}
