// Knows which gateways are connected by MQTT, here or to another server, and when each was last active (a heartbeat or any MQTT packet).
// Activity changes memory only. The time is written when `lastSeenLagMsMax` has passed since the gateway's last
// write, and at a stop, so that the stored time never lags behind by more.

import { LruCache } from '../../base/memory/lru-cache.ts';
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Asks } from '../ports/questions.ts';
import type { Actor } from '../users/user.ts';
import { type Connected, ConnectedElsewhere } from './connected-elsewhere.ts';
import type { Gateway, GatewayId, GatewayKey } from './gateway.ts';
import type { GatewayStore, LastSeenUpdate } from './gateway-store.ts';

/** A connection under a client id; it knows its present actor. */
export interface GatewayConnection {
  readonly actor: Actor;
}

interface LastSeen {
  atMs: number;
  /** The time that was last written; undefined: none since the start. */
  writtenMs: number | undefined;
}

export class Presence {
  readonly #store: Pick<GatewayStore, 'saveLastSeen'>;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #others: Pick<Asks, 'isAlone'>;
  readonly #elsewhere: ConnectedElsewhere;
  /** By client id. Bounded by the number of MQTT connections. */
  readonly #connections = new Map<string, GatewayConnection>();
  readonly #seen = new LruCache<GatewayKey, LastSeen>({ weightMax: limits.gatewaysSeenMax });
  /** Gateways whose time must be written. */
  readonly #due = new Set<GatewayKey>();
  #writing: Promise<void> | undefined;
  /** Called with each activity: it must cost next to nothing. */
  onSeen: (gateway: GatewayKey, atMs: number) => void = () => {};

  constructor(parts: {
    readonly gatewayStore: Pick<GatewayStore, 'saveLastSeen'>;
    readonly permissions: Permissions;
    readonly clock: Clock;
    readonly others: Pick<Asks, 'ask' | 'isAlone'>;
  }) {
    this.#store = parts.gatewayStore;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
    this.#others = parts.others;
    this.#elsewhere = new ConnectedElsewhere(parts.others);
  }

  /** Notes that the connection now has the client id. */
  arrive(clientId: string, connection: GatewayConnection): void {
    this.#connections.set(clientId, connection);
  }

  /** Notes that the connection has closed. Ignored where another connection has taken over its client id. */
  leave(clientId: string, connection: GatewayConnection): void {
    if (this.#connections.get(clientId) === connection) this.#connections.delete(clientId);
  }

  /**
   * Those for which a client that may act for them is connected under their id, here or to another server (contract 6). A server that
   * does not answer is taken for one that nobody is connected to.
   */
  async connectedAmong(gateways: readonly Gateway[]): Promise<Connected> {
    const here = gateways.filter((gateway) => this.isConnectedHere(gateway)).map(({ id }) => id);
    const connected = new Set(here);
    const asked = gateways.map(({ id }) => id).filter((id) => !connected.has(id));
    if (asked.length === 0 || this.#others.isAlone) return { ids: connected, isSure: true };
    const { ids: elsewhere, isSure } = await this.#elsewhere.among(asked);
    for (const id of asked) if (elsewhere.has(id)) connected.add(id);
    return { ids: connected, isSure };
  }

  /** Whether any client is connected here under the id. */
  hasConnection(id: GatewayId): boolean {
    return this.#connections.has(id);
  }

  /** Whether a client that may act for the gateway is connected to this process under its id. */
  isConnectedHere(gateway: Gateway): boolean {
    const connection = this.#connections.get(gateway.id);
    return connection !== undefined && this.#permissions.mayActFor(connection.actor, gateway);
  }

  /** When the gateway was last active, in milliseconds since 1970 UTC. */
  lastSeenMs(gateway: Gateway): number | undefined {
    const seen = this.#seen.get(gateway.key)?.atMs;
    return seen === undefined ? gateway.lastSeenMs : Math.max(seen, gateway.lastSeenMs ?? 0);
  }

  /** The same as far as this process has seen it. */
  seenMs(gateway: GatewayKey): number | undefined {
    return this.#seen.get(gateway)?.atMs;
  }

  /** Notes a packet on the connection. It counts as activity of the gateway if the connection may act for it. */
  noteActivity({ actor }: GatewayConnection, gateway: Gateway | undefined): void {
    if (gateway !== undefined && this.#permissions.mayActFor(actor, gateway)) this.noteSeen(gateway);
  }

  /** Sets the gateway's last activity to now. */
  noteSeen(gateway: { readonly key: GatewayKey; readonly id: GatewayId }): void {
    const atMs = this.#clock.now();
    const seen = this.#seen.get(gateway.key) ?? { atMs, writtenMs: undefined };
    if (seen.writtenMs === undefined) this.#seen.set(gateway.key, seen);
    seen.atMs = atMs;
    this.onSeen(gateway.key, atMs);
    if (seen.writtenMs !== undefined && Math.abs(atMs - seen.writtenMs) < limits.lastSeenLagMsMax) return;
    this.#due.add(gateway.key);
    this.#writing ??= this.#write();
  }

  forget(gateway: GatewayKey): void {
    this.#seen.delete(gateway);
    this.#due.delete(gateway);
  }

  /** Writes all times that are not written; at a stop, and before the stored times are searched. */
  async flush(): Promise<void> {
    for (const [gateway, { atMs, writtenMs }] of this.#seen.entries()) if (atMs !== writtenMs) this.#due.add(gateway);
    this.#writing ??= this.#write();
    await this.#writing;
  }

  /** Resolves when no write is in progress. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  /** One write at a time, in parts. What becomes due meanwhile goes into the next write. */
  async #write(): Promise<void> {
    // In the next turn, so that a burst of heartbeats is one write.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#due.size > 0) {
      const keys = [...this.#due].slice(0, limits.lastSeenWrittenMax);
      const updates: LastSeenUpdate[] = [];
      for (const gateway of keys) {
        this.#due.delete(gateway);
        const seen = this.#seen.get(gateway);
        if (seen === undefined) continue;
        seen.writtenMs = seen.atMs;
        updates.push({ gateway, atMs: seen.atMs });
      }
      // If the disk refuses, other code reports that, and the next heartbeat writes again.
      await this.#store.saveLastSeen(updates).catch(() => this.#notWritten(keys));
    }
    this.#writing = undefined;
  }

  #notWritten(gateways: readonly GatewayKey[]): void {
    for (const gateway of gateways) {
      const seen = this.#seen.get(gateway);
      if (seen !== undefined) seen.writtenMs = undefined;
    }
  }
}
