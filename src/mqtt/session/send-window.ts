// How many messages of QoS 1 and 2 a client of version 5 has been sent and has not acknowledged: never more than its Receive
// Maximum [MQTT-3.3.4-9]. What is beyond that waits in its order; those messages alone, others pass. Bounded in bytes:
// beyond `subscriberBytesMax` the client is cut (I4).
import { limits } from '../../config/limits.ts';

interface Waiting {
  readonly bytes: number;
  readonly send: () => void;
}

export class SendWindow {
  readonly #max: number;
  /** Packet ids of what was sent; made with the first. */
  #ids: Set<number> | undefined;
  /** Messages that will be written in this turn, which have no id yet. */
  #reserved = 0;
  #waiting: Waiting[] | undefined;
  #waitingBytes = 0;
  #isAdvancing = false;
  /** Called when a message may be sent, and none waits. */
  #onOpen: (() => void)[] | undefined;

  /** @param receiveMaximum of the client; beyond our own bound it would have us remember, and look through, all packet ids. */
  constructor(receiveMaximum: number) {
    this.#max = Math.min(receiveMaximum, limits.unacknowledgedMax);
  }

  /** Whether a message may be sent now, and none waits before it. */
  get isOpen(): boolean {
    return this.#waiting === undefined && this.#isRoom;
  }

  get #isRoom(): boolean {
    return (this.#ids?.size ?? 0) + this.#reserved < this.#max;
  }

  /** Resolves when a message may be sent and none waits, the connection has closed, or nobody may wait longer (`hurry`). */
  opened(): Promise<void> | undefined {
    if (this.isOpen) return undefined;
    return new Promise((resolve) => {
      this.#onOpen ??= [];
      this.#onOpen.push(resolve);
    });
  }

  /** Whoever waits for room goes on without. */
  hurry(): void {
    const waiting = this.#onOpen;
    this.#onOpen = undefined;
    if (waiting !== undefined) for (const resolve of waiting) resolve();
  }

  /** A message will be sent in this turn of the event loop: `take` or `giveBack` follows. Call it only where there is room. */
  reserve(): void {
    this.#reserved += 1;
  }

  /** A message that was reserved is sent under this id. */
  take(id: number): void {
    this.#reserved -= 1;
    this.#ids ??= new Set();
    this.#ids.add(id);
  }

  /** An id that is in use from an earlier connection, of a message that was received and is not complete. */
  keep(id: number): void {
    this.#ids ??= new Set();
    this.#ids.add(id);
  }

  /** A message that was reserved is not sent. */
  giveBack(): void {
    this.#reserved -= 1;
    this.#advance();
  }

  /** Whether an id is in use: no other message may have it [MQTT-2.2.1-3]. */
  has(id: number): boolean {
    return this.#ids?.has(id) === true;
  }

  /** Calls `send` when there is room, which is reserved then. @returns false where too much waits. */
  run(bytes: number, send: () => void): boolean {
    if (this.isOpen) {
      this.reserve();
      send();
      return true;
    }
    this.#waitingBytes += bytes;
    this.#waiting ??= [];
    this.#waiting.push({ bytes, send });
    return this.#waitingBytes <= limits.subscriberBytesMax;
  }

  /** The message of this id was acknowledged. */
  release(id: number): void {
    if (this.#ids?.delete(id) === true) this.#advance();
  }

  /** Drops what waits: its connection has closed. @returns its bytes. */
  clear(): number {
    const bytes = this.#waitingBytes;
    this.#waitingBytes = 0;
    this.#waiting = undefined;
    this.hurry();
    return bytes;
  }

  /** Not entered again by a message that is not sent after all: the loop goes on with its room. */
  #advance(): void {
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    let next = 0;
    const waiting = this.#waiting ?? [];
    try {
      while (next < waiting.length && this.#isRoom && this.#waiting === waiting) {
        const { bytes, send } = waiting[next] as Waiting;
        next += 1;
        this.#waitingBytes -= bytes;
        this.reserve();
        send();
      }
    } finally {
      this.#isAdvancing = false;
      if (this.#waiting === waiting) {
        waiting.splice(0, next);
        if (waiting.length === 0) this.#waiting = undefined;
      }
    }
    if (this.isOpen) this.hurry();
  }
}
