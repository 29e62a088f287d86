// Shares out the connections of the process, HTTP and MQTT together, by the address of the peer. Asked by base/network/sockets.ts
// for each connection that is accepted. Keeps true: never more than `max` are open; while there is room nobody is limited;
// when nearly all are taken, the address with the most connections loses its longest silent one to a newcomer.

import type { Log } from '../../base/log.ts';
import type { AcceptedConnection, ConnectionAdmission } from '../../base/network/sockets.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from './caller.ts';
import type { Callers } from './callers.ts';
import { FairShare } from './fair-share.ts';

/** One open connection. */
interface OpenConnection {
  readonly connection: AcceptedConnection;
  readonly owner: CallerConnections;
  /** Bytes that had been received from it at the last look. */
  receivedBytes: number;
}

/** A caller with open connections. */
interface CallerConnections {
  readonly caller: Caller;
  /** Silent for longest first, as far as the looks so far have shown. */
  readonly slots: Set<OpenConnection>;
}

/** Connections looked at to find a silent one for a newcomer; so many at most, because newcomers can come fast. */
const silentTries = 256;

export class ConnectionLimiter implements ConnectionAdmission {
  readonly #callers: Callers;
  readonly #log: Log;
  readonly #max: number;
  /** What one caller alone may hold. From here on a newcomer takes somebody's place, or one of the reserve. */
  readonly #aloneMax: number;
  readonly #share: FairShare;
  readonly #owners = new Map<Caller, CallerConnections>();
  /** At index n: those who hold n connections. */
  readonly #byCount: (Set<CallerConnections> | undefined)[] = [];
  /** The most that anybody holds. */
  #most = 0;
  #looking: NodeJS.Timeout | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #cut = 0;
  #refused = 0;

  /** @param parts.max how many there may be (connections-max.ts). */
  constructor(parts: { readonly callers: Callers; readonly log: Log; readonly max: number }) {
    this.#callers = parts.callers;
    this.#log = parts.log;
    this.#max = parts.max;
    const reserve = Math.ceil((this.#max * limits.connectionsReserve) / limits.connectionsMax);
    this.#aloneMax = this.#max - reserve;
    this.#share = new FairShare('connections', { aloneMax: this.#aloneMax, reserve });
  }

  /** Open connections. */
  get held(): number {
    return this.#share.held;
  }

  letIn(connection: AcceptedConnection): (() => void) | undefined {
    const caller = this.#callers.ofAddress(connection.address);
    if (this.held >= this.#aloneMax && !this.#freeSlot(caller)) {
      this.#refused += 1;
      this.#tell();
      return undefined;
    }
    const owner = this.#owners.get(caller) ?? { caller, slots: new Set() };
    const slot = { connection, owner, receivedBytes: 0 };
    this.#change(owner, () => owner.slots.add(slot));
    this.#share.force(caller, 1);
    this.#looking ??= setInterval(() => this.#lookAtAll(), limits.connectionsLookMs).unref();
    return () => this.#leave(slot);
  }

  /** Whether another connection of the caller may be held, now that nearly all are taken. */
  #freeSlot(caller: Caller): boolean {
    const own = this.#share.heldBy(caller);
    if (own > 0 && own >= this.#most) return false;
    const isFull = this.held >= this.#max;
    const [heaviest] = this.#byCount[this.#most] ?? [];
    // Who would then hold less than the newcomer's caller loses nothing.
    if (heaviest !== undefined && this.#most > own + 1) {
      const victim = this.#silentOf(heaviest) ?? (isFull ? heaviest.slots.values().next().value : undefined);
      if (victim !== undefined) {
        this.#cutOff(victim);
        return true;
      }
    }
    return !isFull;
  }

  /** The connection of which nothing came for longest, and which is not waiting for an answer. */
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
    this.#tell();
    slot.connection.cut();
  }

  /** Once for each connection: when it has ended, or was cut. */
  #leave(slot: OpenConnection): void {
    const { owner } = slot;
    if (!owner.slots.has(slot)) return;
    this.#change(owner, () => owner.slots.delete(slot));
    this.#share.giveBack(owner.caller, 1);
    if (this.held > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Changes what a holder has, and where it stands among the others. */
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

  /** While connections may soon be scarce: finds out which are silent, so that it is known when one has to go. */
  #lookAtAll(): void {
    if (this.held < this.#aloneMax * limits.connectionsWatchedFrom) return;
    for (const { slots } of this.#owners.values()) {
      // Those that are put behind are not looked at twice.
      let left = slots.size;
      for (const slot of slots) {
        if (left === 0) break;
        left -= 1;
        updateReceivedBytes(slot);
      }
    }
  }

  #tell(): void {
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

/** True where something came since the last look, or an answer is owed: then it goes behind the others. */
function updateReceivedBytes(slot: OpenConnection): boolean {
  const { connection, owner } = slot;
  const { bytesRead } = connection;
  if (bytesRead === slot.receivedBytes && !connection.isUnderWay) return false;
  slot.receivedBytes = bytesRead;
  owner.slots.delete(slot);
  owner.slots.add(slot);
  return true;
}
