// Wills: published when a connection ends without DISCONNECT, of version 5 after the delay that it asked for, unless its client
// comes back before [MQTT-3.1.3-9]; and those of a run of the service that ended without publishing them, by the next one.
// Each is deleted from the store behind its publication. Those that wait are as many as stored sessions (I4).
import type { Log } from '../../base/log.ts';
import { limits } from '../../config/limits.ts';
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import type { ClientSession } from '../sessions.ts';
import type { Will } from './will.ts';

export interface WillsParts {
  readonly stored: Pick<MqttSessions, 'streamWill' | 'delWill'>;
  /** The id under which this run stores wills. */
  readonly brokerId: string;
  readonly publish: (will: Will, session: ClientSession | undefined) => Promise<void>;
  readonly sessionOf: (clientId: string) => ClientSession | undefined;
  /** The clock by which they wait. */
  readonly nowMs: () => number;
  readonly log: Log;
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
  readonly #delayed = new Map<string, { readonly will: Will; readonly dueMs: number }>();
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
    this.#timer = setInterval(() => {
      this.#looking ??= this.#publishLost()
        .catch((err: unknown) => this.#parts.log.error({ err }, 'publishing wills of an earlier run failed'))
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
    const published = this.#publish(will, session).catch(() => {});
    this.#underWay.add(published);
    void published.then(() => this.#underWay.delete(published));
  }

  /** Publishes the will after so many milliseconds, unless its client comes back. */
  delay(clientId: string, will: Will, delayMs: number): void {
    this.#delayed.set(clientId, { will, dueMs: this.#parts.nowMs() + delayMs });
    this.#lookLater();
  }

  /**
   * A client has come back: what waited for that is not published; but where it begins anew, its earlier session has ended, and
   * with it the delay. Resolves when it is published then.
   */
  async cameBack(clientId: string, { isFresh }: { readonly isFresh: boolean }): Promise<void> {
    const delayed = this.#delayed.get(clientId);
    if (delayed === undefined) return;
    this.#delayed.delete(clientId);
    if (isFresh) await this.#publish(delayed.will, undefined).catch(() => {});
  }

  #lookLater(): void {
    if (this.#isClosed || this.#delayed.size === 0) return;
    this.#delayTimer ??= setTimeout(() => {
      this.#delayTimer = undefined;
      const nowMs = this.#parts.nowMs();
      for (const [clientId, { will, dueMs }] of this.#delayed) {
        if (dueMs > nowMs) continue;
        this.#delayed.delete(clientId);
        this.publish(will, undefined);
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
  }

  async #publishLost(): Promise<void> {
    const { stored, brokerId, sessionOf } = this.#parts;
    for await (const will of stored.streamWill({ [brokerId]: true }) as AsyncIterable<Will>) {
      const { payload } = will as { readonly payload: string | Uint8Array };
      await this.#publish({ ...will, payload: Buffer.from(payload as string) }, sessionOf(will.clientId ?? ''));
    }
  }
}
