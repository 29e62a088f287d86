// Cuts connections that are silent for longer than they may: one and a half times their keep-alive [MQTT-3.1.2-24], and
// before CONNECT a time of ours. One wheel of time slots for all connections, in place of a timer for each: a connection
// stands in the slot in which it would be due if nothing came, and is looked at then. Used by the broker.
import { limits } from '../../config/limits.ts';
import type { Client } from './client.ts';

export class SilenceWatch {
  /** By the number of the slot. */
  readonly #slots = new Map<number, Client[]>();
  readonly #onSilent: (client: Client) => void;
  #next = slotOf(performance.now());
  #timer: NodeJS.Timeout | undefined;

  /** @param onSilent is called with a connection that has been silent for too long. */
  constructor(onSilent: (client: Client) => void) {
    this.#onSilent = onSilent;
  }

  /** From now on the connection may be silent for so long; 0: for ever. */
  watch(client: Client, silenceMsMax: number): void {
    client.silenceMsMax = silenceMsMax;
    client.heardMs = performance.now();
    this.#put(client);
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
    if (client.silenceMsMax === 0) {
      client.silenceSlot = -1;
      return;
    }
    const slot = Math.max(this.#next, slotOf(client.heardMs + client.silenceMsMax) + 1);
    client.silenceSlot = slot;
    const clients = this.#slots.get(slot);
    if (clients === undefined) this.#slots.set(slot, [client]);
    else clients.push(client);
    this.#lookLater();
  }

  #look(): void {
    const nowMs = performance.now();
    for (const present = slotOf(nowMs); this.#next <= present; this.#next += 1) {
      const clients = this.#slots.get(this.#next);
      if (clients === undefined) continue;
      this.#slots.delete(this.#next);
      // Put back into later slots.
      const slot = this.#next;
      for (const client of clients) if (client.silenceSlot === slot && !client.closed) this.#judge(client, nowMs);
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
