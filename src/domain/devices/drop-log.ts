// The drop log: MQTT messages to a device that were not stored, and why (contract 8). MQTT 3.1.1 has no error answer
// for a publish, so the device's owner reads the reason here. Drops are written apart from ingest's commits; if too
// many wait to be written, further ones are only counted.
import type { Clock } from '../../base/time/clock.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceKey } from '../device-key.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { Actor } from '../users/user.ts';
import type { Device, DeviceId } from './device.ts';
import type { DeviceDirectory } from './device-directory.ts';

export interface Drop {
  /** Milliseconds since 1970 UTC. */
  readonly atMs: number;
  readonly topic: string;
  /** The publisher. */
  readonly username: string;
  readonly reason: string;
}

export interface DropStore {
  append(device: DeviceKey, drop: Drop): Promise<void>;
  /** Newest first. */
  list(device: DeviceKey): Promise<Drop[]>;
}

export class DropLog {
  readonly #store: DropStore;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #clock: Clock;
  readonly #waitingMax: number;
  #waiting = 0;
  #uncounted = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(parts: {
    readonly store: DropStore;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly clock: Clock;
    readonly waitingMax: number;
  }) {
    this.#store = parts.store;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#clock = parts.clock;
    this.#waitingMax = parts.waitingMax;
  }

  /** Number of drops that were not written, only counted. */
  get notKept(): number {
    return this.#uncounted;
  }

  /** Writes a drop in the background. Never throws and never delays the caller. */
  note(device: Device, drop: Omit<Drop, 'atMs'>): void {
    if (this.#waiting >= this.#waitingMax) {
      this.#uncounted += 1;
      return;
    }
    this.#waiting += 1;
    const { topic, username, reason } = drop;
    const kept = { topic: shortened(topic), username, reason: shortened(reason), atMs: this.#clock.now() };
    this.#store.append(device.key, kept).then(
      () => this.#ended(),
      () => {
        this.#uncounted += 1;
        this.#ended();
      },
    );
  }

  /** Resolves when all drops are written. */
  idle(): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** The device's drops, newest first; for its owner and admins. */
  async list(actor: Actor, id: DeviceId): Promise<Drop[]> {
    const device = await this.#directory.get(id);
    this.#permissions.requireOwner(actor, device);
    return this.#store.list(device.key);
  }

  #ended(): void {
    this.#waiting -= 1;
    if (this.#waiting === 0) for (const resume of this.#idleWaiters.splice(0)) resume();
  }
}

/** Shortens a text and replaces NUL, because anybody can cause drops. */
function shortened(text: string): string {
  const clean = text.replaceAll('\0', '\ufffd');
  return clean.length <= limits.dropCharsMax ? clean : `${clean.slice(0, limits.dropCharsMax - 1)}…`;
}
