// The feed: every committed push and setting, in commit order (I3). Publishing calls readers, which only enqueue
// (I4). A reader that cannot keep up handles that itself and never delays a commit.

import type { Caller } from '../callers/caller.ts';
import type { Actuator } from '../devices/actuator.ts';
import type { Device } from '../devices/device.ts';
import type { Sensor } from '../devices/sensor.ts';
import type { SettingId } from '../devices/setting.ts';
import type { UserKey } from '../users/user.ts';
import type { Readings } from './ingest/reading.ts';

/** An MQTT message as received, so that it is delivered as it was published. */
export interface OriginalMessage {
  readonly payload: Uint8Array;
  /** Size of the payload. */
  readonly bytes: number;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** The publisher; set where the message is retained. */
  readonly user?: UserKey;
  /** Of MQTT 5: what its publisher said of it beside topic and payload, as bytes. */
  readonly properties?: Uint8Array | undefined;
  /** When it may be delivered no more, in milliseconds since 1970 UTC. */
  readonly expiresMs?: number | undefined;
  /** The client id of its publisher. */
  readonly publisherId?: string | undefined;
}

/** One committed push to one sensor. */
export interface CommittedPush {
  readonly kind: 'sensor';
  readonly device: Device;
  readonly sensor: Sensor;
  /** Empty where a message without readings only kept its place in the queue. */
  readonly readings: Readings;
  /** Milliseconds since 1970 UTC at which the service received it. */
  readonly receivedMs: number;
  /** Seq of the first of its datapoints. */
  readonly firstSeq: number;
  /** Set when it came over MQTT. */
  readonly original: OriginalMessage | undefined;
  /** True when the payload was an array on the `values` topic. */
  readonly many: boolean;
  /** True when no rule is evaluated for it: imported history, or a push with `Prefer: notify=none`. */
  readonly skipsRules: boolean;
  /** The caller that the effects of this push are counted for; undefined where another process received it. */
  readonly caller: Caller | undefined;
}

/** One committed setting of an actuator. */
export interface CommittedSetting {
  readonly kind: 'actuator';
  readonly device: Device;
  readonly actuator: Actuator;
  readonly valueJson: string;
  /** Its entry in the actuator's history. */
  readonly setting: SettingId | undefined;
  readonly caller: Caller;
  readonly original: OriginalMessage | undefined;
}

export type Committed = CommittedPush | CommittedSetting;

export type FeedReader = (committed: Committed) => void;

export class Feed {
  readonly #readers = new Set<FeedReader>();
  readonly #onError: (error: unknown) => void;

  /**
   * @param onError called with what a reader has thrown. The commit stands, and the other readers are still called
   * (I1, I2).
   */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Adds a reader; the returned function removes it. */
  subscribe(reader: FeedReader): () => void {
    this.#readers.add(reader);
    return () => this.#readers.delete(reader);
  }

  publish(committed: Committed): void {
    for (const reader of this.#readers) {
      try {
        reader(committed);
      } catch (error) {
        this.#onError(error);
      }
    }
  }
}
