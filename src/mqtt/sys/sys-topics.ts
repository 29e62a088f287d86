// `$SYS/broker/…`: figures of the MQTT server under the names that mosquitto gives them, for admins alone, so that its
// exporters work. An admin who subscribes gets the present values at once, with RETAIN, and then those that have changed,
// every ten seconds, with QoS 0. They pass neither the broker nor the store: nobody can publish there, and nothing of it
// waits for a session. Bounded by the number of connections of admins, and by what each may leave unread (I4).
import packageJson from '../../../package.json' with { type: 'json' };
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../base/time/clock.ts';
import { nextLoopTurn } from '../../base/time/next-loop-turn.ts';
import { limits } from '../../config/limits.ts';
import type { MqttSessions } from '../../domain/ports/mqtt-sessions.ts';
import type { ClientSession, Sessions } from '../sessions.ts';
import { matchesFilter } from '../topics.ts';
import type { BrokerCounts, CountedStream } from './broker-counts.ts';
import { LoadAverages, type LoadSpan, loadSpans } from './load-averages.ts';

export interface SysTopicsParts {
  readonly counts: BrokerCounts;
  readonly sessions: Sessions;
  readonly stored: Pick<MqttSessions, 'figures'>;
  /** How many filters the connected clients with clean sessions have. */
  readonly liveFilters: () => number;
  readonly clock: Clock;
  readonly log: Log;
  readonly send: (
    session: ClientSession,
    message: { readonly topic: string; readonly payload: Buffer },
    options: { readonly retain: boolean },
  ) => void;
  /** Writes what was sent. */
  readonly flush: () => void;
}

const root = '$SYS/broker/';

/** The figures of which there are averages, by the middle of their topic. */
const loads = {
  'messages/received': ({ packetsIn }: BrokerCounts) => packetsIn,
  'messages/sent': ({ packetsOut }: BrokerCounts) => packetsOut,
  'publish/received': ({ publishesIn }: BrokerCounts) => publishesIn,
  'publish/sent': ({ publishesOut }: BrokerCounts) => publishesOut,
  'bytes/received': ({ bytesIn }: BrokerCounts) => bytesIn,
  'bytes/sent': ({ bytesOut }: BrokerCounts) => bytesOut,
  sockets: ({ sockets }: BrokerCounts) => sockets,
} as const;

export class SysTopics {
  readonly #parts: SysTopicsParts;
  readonly #startMs: number;
  #lookedMs: number;
  /** Admins who listen. */
  readonly #listeners = new Set<ClientSession>();
  readonly #loads = new Map<string, LoadAverages>();
  /** As of the last time when changes were sent. */
  #values = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(parts: SysTopicsParts) {
    this.#parts = parts;
    this.#startMs = parts.clock.elapsedMs();
    this.#lookedMs = this.#startMs;
    for (const name of [...Object.keys(loads), 'connections', 'publish/dropped'])
      this.#loads.set(name, new LoadAverages());
  }

  start(): void {
    this.#values = this.#now();
    this.#timer = setInterval(() => {
      this.#looking ??= this.#publish()
        .catch((err: unknown) => this.#parts.log.error({ err }, 'publishing the figures of the MQTT broker failed'))
        .finally(() => {
          this.#looking = undefined;
        });
    }, limits.sysTopicsEveryMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** A client has subscribed to these filters; without them: it comes back with those of its session. */
  subscribed(session: ClientSession | undefined, subscribed?: readonly string[]): void {
    if (session === undefined || !session.actor.admin) return;
    const filters = subscribed ?? [...session.filters.keys()];
    const asked = filters.filter((filter) => isSysFilter(filter) && session.filters.has(filter));
    if (asked.length === 0) return;
    // All listeners know the same values, so that each is told of every change.
    this.#tellChanges();
    this.#listeners.add(session);
    this.#sendTo(session, this.#values, { filters: asked, retain: true });
    this.#parts.flush();
  }

  /** Call when the client has gone. */
  released(session: ClientSession): void {
    this.#listeners.delete(session);
  }

  async #publish(): Promise<void> {
    await this.#countBytes();
    const { clock } = this.#parts;
    const seconds = (clock.elapsedMs() - this.#lookedMs) / 1_000;
    // A clock that is turned by hand may stand still.
    if (seconds > 0) {
      this.#lookedMs = clock.elapsedMs();
      for (const [name, read] of Object.entries(loads)) this.#loads.get(name)?.take(read(this.#parts.counts), seconds);
      this.#loads.get('connections')?.take(this.#parts.sessions.countEver, seconds);
      this.#loads.get('publish/dropped')?.take(this.#parts.stored.figures().dropped, seconds);
    }
    this.#tellChanges();
    this.#parts.flush();
  }

  /** Sends what has changed since the last time. The caller flushes. */
  #tellChanges(): void {
    const before = this.#values;
    this.#values = this.#now();
    const changed = new Map([...this.#values].filter(([topic, value]) => before.get(topic) !== value));
    for (const session of this.#listeners) {
      const filters = [...session.filters.keys()].filter(isSysFilter);
      if (filters.length === 0) this.#listeners.delete(session);
      else this.#sendTo(session, changed, { filters, retain: false });
    }
  }

  /** In steps, because there may be tens of thousands of connections. */
  async #countBytes(): Promise<void> {
    let bytesIn = 0;
    let bytesOut = 0;
    let looked = 0;
    for (const { client } of this.#parts.sessions.connected()) {
      const { bytesRead = 0, bytesWritten = 0 } = client.conn as CountedStream;
      bytesIn += bytesRead;
      bytesOut += bytesWritten;
      looked += 1;
      if (looked % limits.clientsLookedAtOnce === 0) await nextLoopTurn();
    }
    this.#parts.counts.setOpen({ bytesIn, bytesOut });
  }

  #sendTo(
    session: ClientSession,
    values: ReadonlyMap<string, string>,
    { filters, retain }: { readonly filters: readonly string[]; readonly retain: boolean },
  ): void {
    // Asked anew each time: the role or the sign-in may have ended since.
    if (!this.#parts.sessions.isOpen(session) || !session.actor.admin) return;
    for (const [topic, value] of values)
      if (filters.some((filter) => matchesFilter(filter, topic)))
        this.#parts.send(session, { topic, payload: Buffer.from(value) }, { retain });
  }

  /** The present values by topic. */
  #now(): Map<string, string> {
    const { counts, sessions, stored, liveFilters, clock } = this.#parts;
    const { sessionCount, filterCount, retainedCount, dropped } = stored.figures();
    const connected = sessions.count;
    const away = Math.max(0, sessionCount - sessions.keptCount);
    const values = new Map<string, string>();
    const put = (name: string, value: string | number) => values.set(root + name, String(value));
    put('version', `dundun version ${packageJson.version}`);
    put('uptime', `${Math.floor((clock.elapsedMs() - this.#startMs) / 1_000)} seconds`);
    put('clients/connected', connected);
    put('clients/active', connected);
    put('clients/disconnected', away);
    put('clients/inactive', away);
    put('clients/total', connected + away);
    put('clients/maximum', sessions.countMax);
    put('messages/received', counts.packetsIn);
    put('messages/sent', counts.packetsOut);
    put('publish/messages/received', counts.publishesIn);
    put('publish/messages/sent', counts.publishesOut);
    put('publish/messages/dropped', dropped);
    put('bytes/received', counts.bytesIn);
    put('bytes/sent', counts.bytesOut);
    put('subscriptions/count', liveFilters() + filterCount);
    put('retained messages/count', retainedCount);
    for (const [name, load] of this.#loads)
      for (const span of Object.keys(loadSpans) as LoadSpan[]) put(`load/${name}/${span}`, load.of(span).toFixed(2));
    return values;
  }
}

/** A wildcard at the beginning matches no topic that begins with `$` [MQTT-4.7.2-1]. */
function isSysFilter(filter: string): boolean {
  return filter === '$SYS/#' || filter.startsWith('$SYS/');
}
