// Looks every half a minute for sensors and gateways that have gone silent, and whether the storage refuses. One process
// does it, which holds the lease. Each look is linear in what there is, in pieces between which other work has its turn; a
// datapoint only notes when its sensor was heard (habits.ts). While the wall clock is in doubt nobody is called silent
// (decision 30): it is not known how much time has passed.
import type { Log } from '../../base/log.ts';
import { isTransient, Refusal } from '../../base/refusal.ts';
import type { ClockWatch } from '../../base/time/clock-watch.ts';
import { limits } from '../../config/limits.ts';
import type { Feed } from '../datapoints/feed.ts';
import { LeaseLost } from '../lease-lost.ts';
import type { Coordination, Lease } from '../ports/coordination.ts';
import type { AlarmChanges } from './alarm-changes.ts';
import type { AlarmStore } from './alarm-store.ts';
import type { Habits } from './habits.ts';
import type { QuietGateways } from './quiet-gateways.ts';
import type { SilentSensors } from './silent-sensors.ts';
import type { StorageAlarm } from './storage-alarm.ts';

const dayMs = 24 * 3_600_000;

export class AlarmSweep {
  readonly #store: AlarmStore;
  readonly #sensors: SilentSensors;
  readonly #gateways: QuietGateways;
  readonly #storage: StorageAlarm;
  readonly #habits: { readonly sensors: Habits; readonly gateways: Habits };
  readonly #changes: AlarmChanges;
  readonly #feed: Feed;
  readonly #coordination: Coordination;
  readonly #clock: ClockWatch;
  readonly #log: Log;
  #lease: Lease | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #unsubscribe: () => void = () => {};
  #isClosed = false;
  /** When the next look and the next trim are due, by the monotonic clock. */
  #dueMs = 0;
  #trimDueMs = 0;
  /** Since when receptions have been noted by a trusted clock, in milliseconds since 1970 UTC. */
  #sinceMs: number;
  #isSoon = false;

  constructor(parts: {
    readonly alarmStore: AlarmStore;
    readonly silentSensors: SilentSensors;
    readonly quietGateways: QuietGateways;
    readonly storageAlarm: StorageAlarm;
    readonly habits: { readonly sensors: Habits; readonly gateways: Habits };
    readonly changes: AlarmChanges;
    readonly feed: Feed;
    readonly coordination: Coordination;
    readonly clocks: ClockWatch;
    readonly log: Log;
  }) {
    this.#store = parts.alarmStore;
    this.#sensors = parts.silentSensors;
    this.#gateways = parts.quietGateways;
    this.#storage = parts.storageAlarm;
    this.#habits = parts.habits;
    this.#changes = parts.changes;
    this.#feed = parts.feed;
    this.#coordination = parts.coordination;
    this.#clock = parts.clocks;
    this.#log = parts.log;
    this.#sinceMs = parts.clocks.now();
    this.#dueMs = parts.clocks.elapsedMs() + limits.alarmSweepMs;
  }

  start(): void {
    this.#unsubscribe = this.#feed.subscribe((committed) => {
      // Imported history and what asks for no notifications says nothing of how often a sensor is heard.
      if (committed.kind === 'sensor' && committed.readings.length > 0 && !committed.skipsRules)
        this.#habits.sensors.note(committed.sensor.key, committed.receivedMs);
    });
    this.#setTimer(limits.alarmSweepMs);
  }

  /** The wall clock came into doubt, or is trusted again: then silence is measured anew. */
  clockChanged(): void {
    if (this.#clock.isInDoubt) return;
    this.#sinceMs = this.#clock.now();
    for (const habits of Object.values(this.#habits)) habits.beginNoLater(this.#sinceMs);
  }

  /** One that was silent has sent again: its alarm ends soon. */
  soon(): void {
    if (this.#isSoon || this.#isClosed) return;
    this.#isSoon = true;
    this.#dueMs = Math.min(this.#dueMs, this.#clock.elapsedMs());
    this.#setTimer(limits.alarmSoonMs);
  }

  /** Resolves when no look is due or under way. */
  async idle(): Promise<void> {
    while (!this.#isClosed && (this.#running !== undefined || this.#clock.elapsedMs() >= this.#dueMs)) {
      this.#run();
      await this.#running;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unsubscribe();
    clearTimeout(this.#timer);
    await this.#running;
    await this.#lease?.release();
  }

  #setTimer(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#run();
      this.#setTimer(limits.alarmSweepMs);
    }, ms).unref();
  }

  #run(): void {
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined;
    });
  }

  async #look(): Promise<void> {
    this.#isSoon = false;
    this.#dueMs = this.#clock.elapsedMs() + limits.alarmSweepMs;
    try {
      const hasStorageChanged = this.#storage.look(this.#clock.now());
      const lease = await this.#lead();
      if (lease !== undefined) await this.#sweep(lease);
      else if (hasStorageChanged) this.#changes.changed();
    } catch (error) {
      if (error instanceof LeaseLost) await this.#lease?.release();
      else if (!(error instanceof Refusal && isTransient(error)))
        this.#log.error({ err: error }, 'alarms could not be brought up to date; it is tried again');
    }
  }

  async #lead(): Promise<Lease | undefined> {
    if (this.#lease?.isHeld === true) return this.#lease;
    const lease = await this.#coordination.acquire('alarms');
    if (lease === undefined) return undefined;
    try {
      await this.#sensors.load();
      await this.#gateways.load();
      const [stored] = await this.#store.listOpen('storage', { after: 0, limit: 1 });
      this.#storage.begin({ isOpen: stored !== undefined });
    } catch (error) {
      await lease.release();
      throw error;
    }
    this.#lease = lease;
    return lease;
  }

  async #sweep(lease: Lease): Promise<void> {
    this.#clock.look();
    await this.#storeStorage(lease);
    if (!this.#clock.isInDoubt) {
      await this.#sensors.learn(lease);
      for (const kind of [this.#sensors, this.#gateways]) {
        const changes = await kind.look({ nowMs: this.#clock.now(), sinceMs: this.#sinceMs });
        // The clock may have come into doubt meanwhile.
        this.#clock.look();
        if (changes.length === 0 || this.#clock.isInDoubt) continue;
        await this.#store.record(changes, lease);
        kind.done(changes);
        this.#changes.changed();
      }
      await this.#store.endExpired(this.#clock.forAge.now(), lease);
    }
    if (this.#clock.elapsedMs() < this.#trimDueMs || !this.#clock.isSteady()) return;
    this.#trimDueMs = this.#clock.elapsedMs() + limits.alarmTrimMs;
    await this.#store.trim(this.#clock.forAge.now() - limits.alarmHistoryDays * dayMs, lease);
  }

  /** While the storage refuses, the others are left to the next look: they could not be stored either. */
  async #storeStorage(lease: Lease): Promise<void> {
    this.#storage.look(this.#clock.now());
    const { unstored } = this.#storage;
    if (unstored === undefined) return;
    this.#changes.changed();
    await this.#store.record([unstored], lease);
    this.#storage.noteStored(unstored);
  }
}
