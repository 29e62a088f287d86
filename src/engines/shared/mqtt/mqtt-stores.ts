// The parts that store what MQTT stores: made together, started in order (what is on disk is loaded first) and closed together,
// with the usage of quotas written now and then. Made by mqtt-persistence.ts, which answers by them.
import type { Log } from '../../../base/log.ts';
import { systemClock } from '../../../base/time/clock.ts';
import { type AgeClocks, trusted } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type { BrokerIdentity } from '../../../domain/ports/mqtt-sessions.ts';
import { MqttRetained } from './mqtt-retained.ts';
import type { MqttTables } from './mqtt-tables.ts';
import { type MqttQuotas, MqttUsage } from './mqtt-usage.ts';
import { MqttWills } from './mqtt-wills.ts';
import { MqttWrites } from './mqtt-writes.ts';
import { MqttExpiry } from './sessions/mqtt-expiry.ts';
import { MqttIncoming } from './sessions/mqtt-incoming.ts';
import { MqttOutgoing } from './sessions/mqtt-outgoing.ts';
import { SessionAdoption } from './sessions/session-adoption.ts';
import { SessionCatchUp } from './sessions/session-catch-up.ts';
import { SessionIndex } from './sessions/session-index.ts';
import { SessionTransfer } from './sessions/session-transfer.ts';
import { type SessionRules, StoredSessions } from './sessions/stored-sessions.ts';
import { SubscriptionWrites } from './sessions/subscription-writes.ts';

export interface MqttStoresOptions {
  readonly tables: MqttTables;
  /** Whether a filter matches topics of this form, with or without the leading slash. */
  readonly matchesForm: SessionRules['matchesForm'];
  /** Whether a message is kept for sessions of this user; without it, always. */
  readonly mayReceive?: SessionRules['mayReceive'];
  /** Whether a client is connected under this id; without it, never. */
  readonly isInUse?: SessionRules['isInUse'];
  /** How long a session of this user is kept after its client went away; without it, for ever. */
  readonly expiryMsOf?: SessionRules['expiryMsOf'];
  /** How much each user may store; without it, as much as the limits allow. */
  readonly quotas?: MqttQuotas;
  /** By which sessions are too old; without it, by the clock of the machine. */
  readonly clocks?: AgeClocks;
  readonly log?: Log;
}

export class MqttStores {
  readonly #tables: MqttTables;
  readonly #writes: MqttWrites;
  readonly usage: MqttUsage;
  readonly index: SessionIndex;
  readonly sessions: StoredSessions;
  readonly subscriptionWrites: SubscriptionWrites;
  readonly outgoing: MqttOutgoing;
  readonly incoming: MqttIncoming;
  readonly wills: MqttWills;
  readonly retained: MqttRetained;
  readonly transfer: SessionTransfer;
  readonly catchUp: SessionCatchUp | undefined;
  readonly clocks: AgeClocks;
  readonly rules: SessionRules;
  readonly #expiry: MqttExpiry;
  readonly #adoption: SessionAdoption | undefined;
  readonly #log: Log | undefined;
  #usageTimer: NodeJS.Timeout | undefined;

  constructor(options: MqttStoresOptions) {
    const { tables, matchesForm, quotas = unlimited, clocks = trusted(systemClock), log } = options;
    const { mayReceive = () => true, isInUse = () => false, expiryMsOf = () => undefined } = options;
    this.#tables = tables;
    this.clocks = clocks;
    this.#log = log;
    this.rules = { matchesForm, mayReceive, isInUse, expiryMsOf };
    this.#writes = new MqttWrites(tables, (err) =>
      log?.error({ err }, 'messages that MQTT sessions were to get could not be stored'),
    );
    this.usage = new MqttUsage(quotas);
    this.usage.onChange = () => {
      this.#usageTimer = setTimeout(() => void this.#writeUsage(), limits.mqttUsageLagMsMax).unref();
    };
    this.index = new SessionIndex(this.rules, this.usage);
    const shared = { writes: this.#writes, reads: tables.reads, usage: this.usage, index: this.index };
    this.sessions = new StoredSessions({ ...shared, rules: this.rules });
    const parts = { ...shared, sessions: this.sessions, matchesForm };
    this.subscriptionWrites = new SubscriptionWrites(parts);
    this.outgoing = new MqttOutgoing(parts);
    this.incoming = new MqttIncoming(parts);
    this.wills = new MqttWills(parts);
    this.retained = new MqttRetained(parts);
    const { handover } = tables;
    this.catchUp = handover && new SessionCatchUp({ ...parts, handover, outgoing: this.outgoing, log });
    this.transfer = new SessionTransfer({ ...parts, tables, outgoing: this.outgoing, catchUp: this.catchUp });
    this.#expiry = new MqttExpiry({ sessions: this.sessions, clock: clocks, log });
    this.#adoption =
      handover &&
      new SessionAdoption({
        ...{ handover, log },
        take: (clientId) => this.transfer.adopt(clientId),
        takeHalfTaken: () => this.transfer.takeHalfTaken(),
      });
  }

  /**
   * Loads what is stored. The broker's id is new at every start: a will under another id was not sent. Message numbers
   * continue after the stored ones, whatever the broker's id.
   */
  async start(broker: BrokerIdentity): Promise<void> {
    await this.#tables.start(broker.id);
    const { onSessionEnded, onSessionLetGo, onSessionTaken } = broker;
    if (onSessionEnded !== undefined) {
      this.sessions.onEnded = (session) => {
        const take = onSessionEnded(session.clientId, session.user);
        return take && this.outgoing.handOver(session, take);
      };
    }
    if (onSessionLetGo !== undefined) this.transfer.onLetGo = onSessionLetGo;
    if (onSessionTaken !== undefined) this.transfer.onTaken = onSessionTaken;
    if (this.catchUp !== undefined && broker.messages !== undefined) this.catchUp.source = broker.messages;
    const loaded = await this.sessions.load(
      this.#tables,
      broker.connectionOf ?? (() => undefined),
      this.clocks.forExpiry.now(),
    );
    const { overlong, overQuotaCount: overQuota } = loaded;
    if (overlong + overQuota > 0) {
      this.#log?.warn({ overlong, overQuota }, 'subscriptions of stored MQTT sessions beyond the limits were removed');
    }
    await this.outgoing.start(broker);
    await this.wills.start(broker);
    await this.retained.start();
    this.#expiry.start();
  }

  /** What is committed is handed on from now on. */
  begin(): void {
    this.catchUp?.begin();
    this.#adoption?.start();
  }

  /** Resolves when no session is due to expire and no write is pending. */
  async idle(): Promise<void> {
    await this.#expiry.idle();
    await this.#writeUsage();
    await this.#writes.idle();
  }

  /** The service stops: what the database refuses from now on is not written again. */
  giveUp(): void {
    this.#writes.isLast = true;
    this.#tables.giveUp?.();
  }

  /** Stops long reads and cleaning; resolves when no write is pending. */
  async close(): Promise<void> {
    this.#writes.closed = true;
    this.giveUp();
    this.sessions.close();
    this.catchUp?.close();
    await this.#expiry.close();
    await this.#adoption?.close();
    this.usage.onChange = () => {};
    clearTimeout(this.#usageTimer);
    await this.#writeUsage();
    await this.#writes.idle();
    await this.#tables.close();
  }

  /** If this cannot be written, the next start counts from the stored records. */
  async #writeUsage(): Promise<void> {
    const changes = this.usage.takeChanges();
    if (changes.length > 0) await this.#writes.finish(changes).catch(() => {});
  }
}

const unlimited: MqttQuotas = {
  quotaOf: () => ({ sessions: Infinity, sessionBytes: Infinity, retainedBytes: Infinity }),
  onRefused: () => {},
};
