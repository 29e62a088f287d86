// Finds gateways that have gone offline, and those that are back: neither connected over MQTT nor heard for longer than is
// usual for them. Called by the sweep alone. A gateway that was never heard raises no alarm.
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../config/limits.ts';
import type { GatewayKey } from '../gateways/gateway.ts';
import type { Gateways } from '../gateways/gateways.ts';
import type { Presence } from '../gateways/presence.ts';
import { type AlarmChange, subjectOf } from './alarm.ts';
import type { AlarmStore, HeardGateway } from './alarm-store.ts';
import type { Habits } from './habits.ts';
import { OpenCounts } from './open-counts.ts';

export class QuietGateways {
  readonly #store: AlarmStore;
  readonly #gateways: Pick<Gateways, 'find'>;
  readonly #presence: Pick<Presence, 'isConnected' | 'seenMs'>;
  readonly #habits: Habits;
  readonly #ids: Ids;
  readonly #open = new OpenCounts<GatewayKey>();

  constructor(parts: {
    readonly alarmStore: AlarmStore;
    readonly gateways: Pick<Gateways, 'find'>;
    readonly presence: Pick<Presence, 'isConnected' | 'seenMs'>;
    readonly habits: Habits;
    readonly ids: Ids;
  }) {
    this.#store = parts.alarmStore;
    this.#gateways = parts.gateways;
    this.#presence = parts.presence;
    this.#habits = parts.habits;
    this.#ids = parts.ids;
  }

  /** Takes over the alarms that are stored: call when this process begins to look. */
  async load(): Promise<void> {
    this.#open.clear();
    for (let after = 0; ; ) {
      const step = await this.#store.listOpen('gateway', { after, limit: limits.habitSensorsStep });
      for (const { gateway, keeper, sinceMs } of step)
        if (gateway !== undefined) {
          this.#open.add(gateway, keeper, sinceMs);
          this.#habits.mark(gateway, true);
        }
      const last = step.at(-1);
      if (last === undefined || step.length < limits.habitSensorsStep) return;
      after = last.key;
    }
  }

  /** What has changed. The caller stores it, and calls `done` then. */
  async look(time: { readonly nowMs: number; readonly sinceMs: number }): Promise<readonly AlarmChange[]> {
    const changes: AlarmChange[] = [];
    const begun = new Map<number, number>();
    const limit = limits.habitSensorsStep;
    for (let after = 0; changes.length < limits.alarmsOpenedMax; ) {
      const step = await this.#store.listHeardGateways({ after, limit });
      for (const gateway of step) {
        const change = await this.#changeOf(gateway, time);
        if (change === undefined) continue;
        const opened = begun.get(gateway.owner) ?? 0;
        if (change.begins > 0 && this.#open.countOf(gateway.owner) + opened >= limits.alarmsOpenMax) continue;
        if (change.begins > 0) begun.set(gateway.owner, opened + 1);
        changes.push(change);
      }
      const last = step.at(-1);
      if (last === undefined || step.length < limit) break;
      after = last.key;
    }
    return changes;
  }

  done(changes: readonly AlarmChange[]): void {
    for (const { gateway, clearedMs, keeper, sinceMs } of changes) {
      if (gateway === undefined) continue;
      this.#habits.mark(gateway, clearedMs === undefined);
      if (clearedMs === undefined) this.#open.add(gateway, keeper, sinceMs);
      else this.#open.delete(gateway);
    }
  }

  async #changeOf(
    { key, id, owner, lastSeenMs }: HeardGateway,
    { nowMs, sinceMs }: { readonly nowMs: number; readonly sinceMs: number },
  ): Promise<AlarmChange | undefined> {
    const lastMs = Math.max(lastSeenMs, this.#presence.seenMs(key) ?? 0);
    const base = {
      atMs: nowMs,
      kind: 'gateway',
      subject: subjectOf.gateway(key),
      id: this.#ids.uuid(),
      keeper: owner,
      gateway: key,
    } as const;
    const open = this.#open.get(key);
    const silentMs = this.#habits.silentAfterMs(key) ?? limits.gatewayOfflineMs;
    if (open !== undefined) {
      if (lastMs > open.sinceMs) return { ...base, begins: 0, sinceMs: open.sinceMs, clearedMs: lastMs };
      return (await this.#isConnected(id))
        ? { ...base, begins: 0, sinceMs: open.sinceMs, clearedMs: nowMs }
        : undefined;
    }
    if (nowMs - Math.max(lastMs, sinceMs) <= silentMs || (await this.#isConnected(id))) return undefined;
    return { ...base, begins: 1, sinceMs: lastMs, clearedMs: undefined, threshold: Math.round(silentMs / 1000) };
  }

  async #isConnected(id: string): Promise<boolean> {
    const gateway = await this.#gateways.find(id);
    return gateway !== undefined && this.#presence.isConnected(gateway);
  }
}
