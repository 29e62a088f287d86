// Finds gateways that have gone offline, and those that are back: neither connected over MQTT nor heard for longer than is
// usual for them. Called by the sweep alone. A gateway that was never heard raises no alarm.
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../config/limits.ts';
import type { Connected } from '../gateways/connected-elsewhere.ts';
import type { Gateway, GatewayKey } from '../gateways/gateway.ts';
import type { Gateways } from '../gateways/gateways.ts';
import type { Presence } from '../gateways/presence.ts';
import { type AlarmChange, subjectOf } from './alarm.ts';
import type { AlarmStore, HeardGateway } from './alarm-store.ts';
import type { Habits } from './habits.ts';
import { OpenCounts } from './open-counts.ts';

export class QuietGateways {
  readonly #store: AlarmStore;
  readonly #gateways: Pick<Gateways, 'find'>;
  readonly #presence: Pick<Presence, 'connectedAmong' | 'seenMs'>;
  readonly #habits: Habits;
  readonly #ids: Ids;
  readonly #open = new OpenCounts<GatewayKey>();

  constructor(parts: {
    readonly alarmStore: AlarmStore;
    readonly gateways: Pick<Gateways, 'find'>;
    readonly presence: Pick<Presence, 'connectedAmong' | 'seenMs'>;
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
  async look(time: Time): Promise<readonly AlarmChange[]> {
    const changes: AlarmChange[] = [];
    const begun = new Map<number, number>();
    const limit = limits.habitSensorsStep;
    for (let after = 0; changes.length < limits.alarmsOpenedMax; ) {
      const step = await this.#store.listHeardGateways({ after, limit });
      const connected = await this.#connectedAmong(step, time);
      for (const gateway of step) {
        const change = this.#changeOf(gateway, { ...time, connected });
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

  #changeOf(
    { key, id, owner, lastSeenMs }: HeardGateway,
    { nowMs, sinceMs, connected }: Time & { readonly connected: Connected },
  ): AlarmChange | undefined {
    const lastMs = this.#lastMs({ key, lastSeenMs });
    const base = {
      atMs: nowMs,
      kind: 'gateway',
      subject: subjectOf.gateway(key),
      id: this.#ids.uuid(),
      keeper: owner,
      gateway: key,
    } as const;
    const open = this.#open.get(key);
    if (open !== undefined) {
      if (lastMs > open.sinceMs) return { ...base, begins: 0, sinceMs: open.sinceMs, clearedMs: lastMs };
      return connected.ids.has(id) ? { ...base, begins: 0, sinceMs: open.sinceMs, clearedMs: nowMs } : undefined;
    }
    const silentMs = this.#silentMs(key);
    if (nowMs - Math.max(lastMs, sinceMs) <= silentMs || connected.ids.has(id)) return undefined;
    // It may be connected to a server that does not answer just now.
    if (!connected.isSure) return undefined;
    return { ...base, begins: 1, sinceMs: lastMs, clearedMs: undefined, threshold: Math.round(silentMs / 1000) };
  }

  /** Of those for which it decides, which are connected to any server: asked for together. */
  async #connectedAmong(step: readonly HeardGateway[], { nowMs, sinceMs }: Time): Promise<Connected> {
    const quiet: Gateway[] = [];
    for (const { key, id, lastSeenMs } of step) {
      const lastMs = this.#lastMs({ key, lastSeenMs });
      const open = this.#open.get(key);
      const isQuiet =
        open === undefined ? nowMs - Math.max(lastMs, sinceMs) > this.#silentMs(key) : lastMs <= open.sinceMs;
      const gateway = isQuiet ? await this.#gateways.find(id) : undefined;
      if (gateway !== undefined) quiet.push(gateway);
    }
    return this.#presence.connectedAmong(quiet);
  }

  #lastMs({ key, lastSeenMs }: Pick<HeardGateway, 'key' | 'lastSeenMs'>): number {
    return Math.max(lastSeenMs, this.#presence.seenMs(key) ?? 0);
  }

  #silentMs(key: GatewayKey): number {
    return this.#habits.silentAfterMs(key) ?? limits.gatewayOfflineMs;
  }
}

interface Time {
  readonly nowMs: number;
  /** Since when gateways are listened to. */
  readonly sinceMs: number;
}
