// Notes which settings were delivered. Delivery never waits for it: marks are gathered and written together, in the
// background. Bounded: beyond limits.settingMarksWaitingMax a setting is shown as not delivered, and is given again.
import { limits } from '../../config/limits.ts';
import type { SettingId } from '../devices/setting.ts';
import type { ActuatorSettingStore } from './actuator-setting-store.ts';

export class DeliveryMarks {
  readonly #store: Pick<ActuatorSettingStore, 'markDelivered'>;
  /** Delivered and not written yet, with the time. */
  #waiting = new Map<SettingId, number>();
  /** Being written. */
  #inWrite: ReadonlyMap<SettingId, number> = new Map();
  #writing: Promise<void> | undefined;
  /** How many were noted, and of how many the write has ended; the promise ends with the batch that is written next. */
  #noted = 0;
  #ended = 0;
  #batch = Promise.withResolvers<void>();

  constructor(store: Pick<ActuatorSettingStore, 'markDelivered'>) {
    this.#store = store;
  }

  /** Notes that a setting was delivered, at a time in milliseconds since 1970 UTC. */
  note(id: SettingId, atMs: number): void {
    if (this.has(id) || this.#waiting.size >= limits.settingMarksWaitingMax) return;
    this.#waiting.set(id, atMs);
    this.#noted += 1;
    this.#writing ??= this.#write();
  }

  /** Whether the setting was noted and is not written yet. */
  has(id: SettingId): boolean {
    return this.#waiting.has(id) || this.#inWrite.has(id);
  }

  /** Resolves when all that was noted by now is written, or was refused by the disk; what is noted later is not waited for. */
  async settled(): Promise<void> {
    const noted = this.#noted;
    while (this.#ended < noted) await this.#batch.promise;
  }

  async #write(): Promise<void> {
    // In the next turn, so that a burst of deliveries is one write.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.size > 0) {
      this.#inWrite = this.#waiting;
      this.#waiting = new Map();
      const marks = [...this.#inWrite].map(([id, atMs]) => ({ id, atMs }));
      // If the disk refuses, other code reports that, and the settings are shown as not delivered.
      await this.#store.markDelivered(marks).catch(() => {});
      this.#ended += marks.length;
      const { resolve } = this.#batch;
      this.#batch = Promise.withResolvers<void>();
      resolve();
    }
    this.#inWrite = new Map();
    this.#writing = undefined;
  }
}
