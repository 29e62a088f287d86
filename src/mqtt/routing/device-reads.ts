// Messages whose device is not in memory: the permission check at delivery needs it there. Each waits until it is read, with what comes
// behind it of the same device; others go on. A read that fails is made again, with longer pauses, so that a message is neither lost
// nor denied where the database is away; after some minutes, or where it cannot be read for another reason, it is dropped. What waits is
// counted for its publishers (delivery-share.ts). Used by delivery-queue.ts.
import { setTimeout as delay } from 'node:timers/promises';
import { isTransient, Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceId } from '../../domain/devices/device.ts';
import type { DeviceDirectory } from '../../domain/devices/device-directory.ts';

interface OfDevice {
  readonly deviceId?: DeviceId;
  readonly orderKey: string;
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
  /** By order key: messages, the first of which waits for its device. */
  readonly #waiting = new Map<string, Message[]>();
  /** Those that need not wait any longer, in order; of some the device was looked for just now. */
  #ready: { readonly message: Message; readonly isLookedFor: boolean }[] = [];
  #reading = 0;
  /** Reads that wait until one of those has ended. */
  readonly #next: (() => void)[] = [];
  readonly #closing = new AbortController();

  constructor(parts: DeviceReadsParts<Message>) {
    this.#parts = parts;
  }

  /** True where the message waits here from now on. */
  holds(message: Message, { isLookedFor = false }: { readonly isLookedFor?: boolean } = {}): boolean {
    const { deviceId, orderKey } = message;
    if (this.#waiting.size > 0) {
      const behind = this.#waiting.get(orderKey);
      behind?.push(message);
      if (behind !== undefined) return true;
    }
    // What is not found was removed: its messages go on, and are denied.
    if (deviceId === undefined || isLookedFor || this.#parts.directory.peek(deviceId) !== undefined) return false;
    this.#waiting.set(orderKey, [message]);
    void this.#read(orderKey, deviceId);
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
    for (const [n, message] of this.#end(orderKey).entries()) this.#ready.push({ message, isLookedFor: n === 0 });
    this.#parts.onReady();
  }

  /** A few at a time. */
  async #find(deviceId: DeviceId): Promise<void> {
    if (this.#reading === limits.deviceReadsMax) await new Promise<void>((resolve) => this.#next.push(resolve));
    else this.#reading += 1;
    const { promise: closed, reject } = Promise.withResolvers<never>();
    const stop = () => reject(new Error('The service stops.'));
    const { signal } = this.#closing;
    if (signal.aborted) stop();
    // Of its own for each read: what lives as long as the service would remember all that have waited for it.
    signal.addEventListener('abort', stop);
    try {
      await Promise.race([this.#parts.directory.find(deviceId), closed]);
    } finally {
      signal.removeEventListener('abort', stop);
      const next = this.#next.shift();
      if (next === undefined) this.#reading -= 1;
      else next();
    }
  }

  #drop(orderKey: string, error: unknown): void {
    for (const message of this.#end(orderKey)) this.#parts.onDropped(message, error);
  }

  #end(orderKey: string): readonly Message[] {
    const messages = this.#waiting.get(orderKey) ?? [];
    this.#waiting.delete(orderKey);
    return messages;
  }
}
