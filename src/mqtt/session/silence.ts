// Cuts connections that are silent for longer than they may: one and a half times their keep-alive [MQTT-3.1.2-24], and
// before CONNECT a time of ours. One wheel of time slots for all connections, in place of a timer for each: a connection
// stands in the slot in which it would be due if nothing came, and is looked at then. Used by the broker.
import { limits } from '../../config/limits.ts';
import type { Client } from './client.ts';

export class SilenceWatch {
  /** By the number of the slot. */
  readonly #slots = new Map<number, Set<Client>>();
  readonly #onSilent: (client: Client) => void;
  #next = slotOf(performance.now());
  #timer: NodeJS.Timeout | undefined;

  /** @param onSilent is called with a connection that has been silent for too long. */
  constructor(onSilent: (client: Client) => void) {
    this.#onSilent = onSilent;
  }

  /** From now on the connection may be silent for so long; 0: for ever. */
  watch(client: Client, silenceMsMax: number): void {
    this.forget(client);
    client.silenceMsMax = silenceMsMax;
    client.heardMs = performance.now();
    this.#put(client);
  }

  /** The connection has ended: its slot may be hours away, and must not keep it in memory until then (I4). */
  forget(client: Client): void {
    const clients = this.#slots.get(client.silenceSlot);
    if (clients?.delete(client) === true && clients.size === 0) this.#slots.delete(client.silenceSlot);
    client.silenceSlot = -1;
  }

  /** How many connections are looked at some time. */
  get size(): number {
    let size = 0;
    for (const clients of this.#slots.values()) size += clients.size;
    return size;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#look();
      if (this.#slots.size > 0) this.#lookLater();
    }, limits.silenceLookMs).unref();
  }

  #put(client: Client): void {
    if (client.silenceMsMax === 0 || client.closed) return;
    const slot = Math.max(this.#next, slotOf(client.heardMs + client.silenceMsMax) + 1);
    client.silenceSlot = slot;
    const clients = this.#slots.get(slot);
    if (clients === undefined) this.#slots.set(slot, new Set([client]));
    else clients.add(client);
    this.#lookLater();
  }

  #look(): void {
    const nowMs = performance.now();
    for (const present = slotOf(nowMs); this.#next <= present; this.#next += 1) {
      const clients = this.#slots.get(this.#next);
      if (clients === undefined) continue;
      this.#slots.delete(this.#next);
      // Put back into later slots.
      for (const client of clients) if (!client.closed) this.#judge(client, nowMs);
    }
  }

  #judge(client: Client, nowMs: number): void {
    // What it sent may lie unread in its socket.
    if (client.isWaitedFor && client.connackSent) client.heardMs = nowMs;
    if (nowMs - client.heardMs < client.silenceMsMax) this.#put(client);
    else this.#onSilent(client);
  }
}

function slotOf(ms: number): number {
  return Math.floor(ms / limits.silenceLookMs);
}
