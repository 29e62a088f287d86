// The feed: every committed push, in commit order (I3). Publishing only calls readers that enqueue (I4);
// a reader that cannot keep up deals with that itself and never holds up a commit.

import type { Actuator } from '../devices/actuator.ts';
import type { Device } from '../devices/device.ts';
import type { Sensor } from '../devices/sensor.ts';
import type { UserKey } from '../users/user.ts';
import type { Readings } from './ingest/reading.ts';

/** An MQTT message as it came in, so that it goes out as it was published. */
export interface OriginalMessage {
  readonly payload: Uint8Array;
  /** Of the payload. */
  readonly bytes: number;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Who published it; there where it is retained. */
  readonly user?: UserKey;
}

/** One committed push to one sensor. */
export interface CommittedPush {
  readonly kind: 'sensor';
  readonly device: Device;
  readonly sensor: Sensor;
  /** None where a message only took its turn. */
  readonly readings: Readings;
  /** Milliseconds since 1970 UTC at which the service received it. */
  readonly receivedMs: number;
  /** Seq of the first of its datapoints. */
  readonly firstSeq: number;
  /** Present when it came over MQTT. */
  readonly original: OriginalMessage | undefined;
  /** True when the payload was an array on the `values` topic. */
  readonly many: boolean;
  /** True when no rule is to look at it: history that is brought in, or a push that says so. */
  readonly isQuiet: boolean;
}

/** One committed setting of an actuator. */
export interface CommittedSetting {
  readonly kind: 'actuator';
  readonly device: Device;
  readonly actuator: Actuator;
  readonly valueJson: string;
  readonly original: OriginalMessage | undefined;
}

export type Committed = CommittedPush | CommittedSetting;

export type FeedReader = (committed: Committed) => void;

export class Feed {
  readonly #readers = new Set<FeedReader>();
  readonly #onError: (error: unknown) => void;

  /** @param onError hears of what a reader has thrown: what is committed stays so, and the other readers hear of it (I1, I2) */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Adds a reader; the function given back takes it away again. */
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
