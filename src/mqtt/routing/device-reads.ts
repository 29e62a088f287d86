// Messages whose device is not in memory: the permission check at delivery needs it there. Each waits until it is read, with what comes
// behind it of the same device; others go on. A read that fails is made again, with longer pauses, so that a message is neither lost
// nor denied where the database is away; after some minutes, or where it cannot be read for another reason, it is dropped. What waits is counted for its publishers (delivery-share.ts). Used by delivery-queue.ts.
import { setTimeout as delay } from 'node:timers/promises';
import { isTransient, Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceId } from '../../domain/devices/device.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';

interface OfDevice {
  readonly deviceId?: DeviceId;
  readonly orderKey: string;
}

/** Messages with the same order key, the first of which waits for its device. */
interface Behind<Message> {
  readonly messages: Message[];
  readonly read: Promise<void>;
}

interface DeviceReadsParts<Message> {
  readonly directory: Pick<DeviceDirectory, 'peek' | 'find'>;
  /** Called where there is something to take. */
  readonly onReady: () => void;
  /** Called for each that waits when nothing is read any more. */
  readonly onDropped: (message: Message, error: unknown) => void;
}

export class DeviceReads<Message extends OfDevice> {
  readonly #parts: DeviceReadsParts<Message>;
  /** By order key. */
  readonly #waiting = new Map<string, Behind<Message>>();
  /** Those that need not wait any longer, in order; of some the device was looked for just now. */
  #ready: { readonly message: Message; readonly isLookedFor: boolean }[] = [];
  #reading = 0;
  /** Reads that wait until one of those has ended. */
  readonly #next: (() => void)[] = [];
  readonly #closing = new AbortController();
  /** Fails when nothing is waited for any more. */
  readonly #closed = new Promise<never>((_, reject) => {
    this.#closing.signal.addEventListener('abort', () => reject(new Error('The service stops.')), { once: true });
  });

  constructor(parts: DeviceReadsParts<Message>) {
    this.#parts = parts;
    this.#closed.catch(() => {});
  }

  /** True where the message waits here from now on. */
  holds(message: Message, { isLookedFor = false }: { readonly isLookedFor?: boolean } = {}): boolean {
    const { deviceId, orderKey } = message;
    if (this.#waiting.size > 0) {
      const behind = this.#waiting.get(orderKey);
      behind?.messages.push(message);
      if (behind !== undefined) return true;
    }
    // What is not found was removed: its messages go on, and are denied.
    if (deviceId === undefined || isLookedFor || this.#parts.directory.peek(deviceId) !== undefined) return false;
    this.#waiting.set(orderKey, { messages: [message], read: this.#read(orderKey, deviceId) });
    return true;
  }

  /** The next message that has waited and may go; undefined where there is none. */
  take(): Message | undefined {
    for (let next = this.#ready.shift(); next !== undefined; next = this.#ready.shift())
      if (!this.holds(next.message, next)) return next.message;
    return undefined;
  }

  get hasWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves when those that wait now may be taken. */
  async read(): Promise<void> {
    await Promise.all([...this.#waiting.values()].map(({ read }) => read));
  }

  /** What cannot be read now is dropped. */
  close(): void {
    this.#closing.abort();
  }

  async #read(orderKey: string, deviceId: DeviceId): Promise<void> {
    const { signal } = this.#closing;
    const sinceMs = performance.now();
    for (
      let waitMs: number = limits.deviceReadRetryMsMin;
      ;
      waitMs = Math.min(2 * waitMs, limits.deviceReadRetryMsMax)
    ) {
      try {
        await this.#find(deviceId);
        break;
      } catch (error) {
        const isHopeless = error instanceof Refusal && !isTransient(error);
        if (signal.aborted || isHopeless || performance.now() > sinceMs + limits.deviceReadMsMax)
          return this.#drop(orderKey, error);
        await delay(waitMs, undefined, { signal, ref: false }).catch(() => {});
      }
    }
    const { messages } = this.#waiting.get(orderKey) as Behind<Message>;
    this.#waiting.delete(orderKey);
    for (const [n, message] of messages.entries()) this.#ready.push({ message, isLookedFor: n === 0 });
    this.#parts.onReady();
  }

  /** A few at a time. */
  async #find(deviceId: DeviceId): Promise<void> {
    if (this.#reading === limits.deviceReadsMax) await new Promise<void>((resolve) => this.#next.push(resolve));
    else this.#reading += 1;
    try {
      if (this.#closing.signal.aborted) throw new Error('The service stops.');
      await Promise.race([this.#parts.directory.find(deviceId), this.#closed]);
    } finally {
      const next = this.#next.shift();
      if (next === undefined) this.#reading -= 1;
      else next();
    }
  }

  #drop(orderKey: string, error: unknown): void {
    const { messages } = this.#waiting.get(orderKey) as Behind<Message>;
    this.#waiting.delete(orderKey);
    for (const message of messages) this.#parts.onDropped(message, error);
  }
}
