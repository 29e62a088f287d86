// When each device was last heard: the latest time of receiving among its sensors' datapoints. Lists sort and filter
// all devices by it, so it is kept in memory; computing it from the tables takes four times as long. Lives in the
// search thread; built at the first query that needs it, then updated before each further one with what the main thread
// reports of the head.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { NumberTable } from '../head/number-table.ts';

export class LastSeenIndex {
  readonly #sensors: StatementSync;
  /** Device by sensor. Never changes: a sensor stays with its device, and keys are not reused. */
  readonly #deviceOf = new NumberTable();
  readonly #lastSeenMs = new NumberTable();
  #lastSensor = 0;

  constructor(reader: DatabaseSync) {
    this.#sensors = reader.prepare(
      `SELECT sensor.key, sensor.device, coalesce(latest.received, 0)
        FROM sensor LEFT JOIN latest ON latest.sensor = sensor.key WHERE sensor.key > ? ORDER BY sensor.key`,
    );
    this.#sensors.setReturnArrays(true);
    // SQL function for the registry's queries.
    reader.function('device_heard', (device) => this.#lastSeenMs.get(device as number));
  }

  /** @param heard pairs of a sensor and the time its last datapoint was received (head-last-seen.ts). */
  update(heard: Float64Array): void {
    for (const row of this.#sensors.iterate(this.#lastSensor)) {
      const [sensor, device, receivedMs] = row as unknown as readonly [number, number, number];
      this.#deviceOf.replace(sensor, device);
      this.#hear(device, receivedMs);
      this.#lastSensor = sensor;
    }
    for (let at = 0; at < heard.length; at += 2) {
      const device = this.#deviceOf.get(heard[at] as number);
      // 0: the sensor was removed before its device was looked up.
      if (device !== 0) this.#hear(device, heard[at + 1] as number);
    }
  }

  #hear(device: number, receivedMs: number): void {
    if (receivedMs > this.#lastSeenMs.get(device)) this.#lastSeenMs.replace(device, receivedMs);
  }
}
