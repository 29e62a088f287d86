// When each device was last heard: the latest time at which a datapoint of one of its sensors was received. Lists are put
// in order by it and filtered, of all devices at once, so that it is kept in memory: looking it up among sensors and last
// datapoints costs four times as much. Lives in the search thread; made at the first question, and brought up to date
// before each further one with what the main thread says of the head.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { NumberTable } from '../head/number-table.ts';

export class LastSeenIndex {
  readonly #sensors: StatementSync;
  /** A sensor stays with its device, and its key is never given again; so what is known stays true. */
  readonly #deviceOf = new NumberTable();
  readonly #lastSeenMs = new NumberTable();
  #lastSensor = 0;

  constructor(reader: DatabaseSync) {
    this.#sensors = reader.prepare(
      `SELECT sensor.key, sensor.device, coalesce(latest.received, 0)
        FROM sensor LEFT JOIN latest ON latest.sensor = sensor.key WHERE sensor.key > ? ORDER BY sensor.key`,
    );
    this.#sensors.setReturnArrays(true);
    // For the registry's queries.
    reader.function('device_heard', (device) => this.#lastSeenMs.get(device as number));
  }

  /** @param heard pairs of a sensor and when its last datapoint was received (head-last-seen.ts). */
  update(heard: Float64Array): void {
    for (const row of this.#sensors.iterate(this.#lastSensor)) {
      const [sensor, device, receivedMs] = row as unknown as readonly [number, number, number];
      this.#deviceOf.replace(sensor, device);
      this.#hear(device, receivedMs);
      this.#lastSensor = sensor;
    }
    for (let at = 0; at < heard.length; at += 2) {
      const device = this.#deviceOf.get(heard[at] as number);
      // A sensor that was removed before it was asked for has none.
      if (device !== 0) this.#hear(device, heard[at + 1] as number);
    }
  }

  #hear(device: number, receivedMs: number): void {
    if (receivedMs > this.#lastSeenMs.get(device)) this.#lastSeenMs.replace(device, receivedMs);
  }
}
