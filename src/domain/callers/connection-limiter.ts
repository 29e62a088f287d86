// Shares the connections of the process, HTTP and MQTT together, among the addresses of peers.
// base/network/sockets.ts asks for each accepted connection. At most `max` are open. While there are enough, nobody
// is limited; when nearly all are taken, a new connection replaces the longest silent one of the address with the
// most.

import type { Log } from '../../base/log.ts';
import type { AcceptedConnection, ConnectionAdmission } from '../../base/network/sockets.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';
import type { Callers } from './callers.ts';
import { FairShare } from './fair-share.ts';
import { pushTurns } from './push-turns.ts';

/** One open connection. */
interface OpenConnection {
  readonly connection: AcceptedConnection;
  readonly owner: CallerConnections;
  /** Bytes received by the last check. */
  receivedBytes: number;
}

/** A caller with open connections. */
interface CallerConnections {
  readonly caller: Caller;
  /** The longest silent connection comes first, as of the last check. */
  readonly slots: Set<OpenConnection>;
}

/** Connections examined to find a silent one; bounded, because new connections may come fast. */
const silentTries = 256;

export class ConnectionLimiter implements ConnectionAdmission {
  readonly #callers: Callers;
  readonly #log: Log;
  readonly #max: number;
  /** Connections open from which a new one replaces another, or takes one of the reserve. */
  readonly #aloneMax: number;
  readonly #share: FairShare;
  readonly #owners = new Map<Caller, CallerConnections>();
  /** At index n: the callers that hold n connections. */
  readonly #byCount: (Set<CallerConnections> | undefined)[] = [];
  /** The most connections that any caller holds. */
  #most = 0;
  #looking: NodeJS.Timeout | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #cut = 0;
  #refused = 0;

  /** @param parts.max the number of connections allowed (connections-max.ts). */
  constructor(parts: { readonly callers: Callers; readonly log: Log; readonly max: number }) {
    this.#callers = parts.callers;
    this.#log = parts.log;
    this.#max = parts.max;
    const reserve = Math.ceil((this.#max * limits.connectionsReserve) / limits.connectionsMax);
    this.#aloneMax = this.#max - reserve;
    this.#share = new FairShare('connections', { aloneMax: this.#aloneMax, reserve });
  }

  /** Number of open connections. */
  get held(): number {
    return this.#share.held;
  }

  /**
   * Decides about a new connection (ConnectionAdmission). Returns the function to call when it has closed; undefined:
   * refused.
   */
  letIn(connection: AcceptedConnection): (() => void) | undefined {
    const caller = this.#callers.ofAddress(connection.address);
    if (this.held >= this.#aloneMax && !this.#freeSlot(caller)) {
      this.#refused += 1;
      this.#logShortage();
      return undefined;
    }
    pushTurns.connectionAccepted();
    const owner = this.#owners.get(caller) ?? { caller, slots: new Set() };
    const slot = { connection, owner, receivedBytes: 0 };
    this.#change(owner, () => owner.slots.add(slot));
    this.#share.force(caller, 1);
    this.#looking ??= setInterval(() => this.#lookAtAll(), limits.connectionsLookMs).unref();
    return () => this.#leave(slot);
  }

  /**
   * Whether the caller may have another connection, now that nearly all are taken; cuts another caller's for it if
   * needed.
   */
  #freeSlot(caller: Caller): boolean {
    const own = this.#share.heldBy(caller);
    if (own > 0 && own >= this.#most) return false;
    const isFull = this.held >= this.#max;
    const [heaviest] = this.#byCount[this.#most] ?? [];
    // Takes one only from a caller that holds more than the new connection's caller would.
    if (heaviest !== undefined && this.#most > own + 1) {
      const victim = this.#silentOf(heaviest) ?? (isFull ? heaviest.slots.values().next().value : undefined);
      if (victim !== undefined) {
        this.#cutOff(victim);
        return true;
      }
    }
    return !isFull;
  }

  /** The longest silent connection of a caller that is not waiting for an answer; undefined where none is found. */
  #silentOf({ slots }: CallerConnections): OpenConnection | undefined {
    let tries = Math.min(silentTries, slots.size);
    for (const slot of slots) {
      if (tries === 0) return undefined;
      tries -= 1;
      if (!updateReceivedBytes(slot)) return slot;
    }
    return undefined;
  }

  #cutOff(slot: OpenConnection): void {
    this.#leave(slot);
    this.#cut += 1;
    this.#logShortage();
    slot.connection.cut();
  }

  /** Forgets a connection that has closed or was cut. Once for each. */
  #leave(slot: OpenConnection): void {
    const { owner } = slot;
    if (!owner.slots.has(slot)) return;
    this.#change(owner, () => owner.slots.delete(slot));
    this.#share.release(owner.caller, 1);
    if (this.held > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Changes a caller's connections and updates its position in `#byCount`. */
  #change(owner: CallerConnections, change: () => void): void {
    this.#byCount[owner.slots.size]?.delete(owner);
    change();
    const { size } = owner.slots;
    if (size === 0) this.#owners.delete(owner.caller);
    else {
      this.#owners.set(owner.caller, owner);
      this.#byCount[size] ??= new Set();
      this.#byCount[size].add(owner);
    }
    this.#most = Math.max(this.#most, size);
    while (this.#most > 0 && (this.#byCount[this.#most]?.size ?? 0) === 0) this.#most -= 1;
  }

  /** When connections may become scarce: finds out which ones are silent, so that it is known which to cut. */
  #lookAtAll(): void {
    if (this.held < this.#aloneMax * limits.connectionsWatchedFrom) return;
    for (const { slots } of this.#owners.values()) {
      // Active connections move to the end of the set; counting keeps them from being checked twice.
      let left = slots.size;
      for (const slot of slots) {
        if (left === 0) break;
        left -= 1;
        updateReceivedBytes(slot);
      }
    }
  }

  #logShortage(): void {
    const nowMs = performance.now();
    if (nowMs - this.#loggedAtMs < limits.connectionsLoggedMs) return;
    this.#loggedAtMs = nowMs;
    const { held } = this;
    this.#log.warn(
      { open: held, max: this.#max, cut: this.#cut, refused: this.#refused },
      'nearly all connections are taken: the addresses that hold most lose silent ones, or are refused',
    );
    this.#cut = 0;
    this.#refused = 0;
  }
}

/**
 * Returns true where bytes came since the last check, or an answer is pending; then the connection moves to the end.
 */
function updateReceivedBytes(slot: OpenConnection): boolean {
  const { connection, owner } = slot;
  const { bytesRead } = connection;
  if (bytesRead === slot.receivedBytes && !connection.isUnderWay) return false;
  slot.receivedBytes = bytesRead;
  owner.slots.delete(slot);
  owner.slots.add(slot);
  return true;
}
