// When each device was last seen: the latest time at which a datapoint of its sensors was received. Lists sort and
// filter all devices by it; computing it from the tables for each list would take four times as long, so it is in memory.
// Belongs to the search thread. Built at the first query that needs it; before each further one the main thread sends
// what has changed in the head.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { NumberTable } from '../../shared/head/number-table.ts';

export class LastSeenIndex {
  readonly #sensors: StatementSync;
  readonly #sensorsOf: StatementSync;
  /** Device by sensor. Keys are not reused; where a sensor is moved to another device, all is read again. */
  #deviceOf = new NumberTable();
  /** By device, and by sensor. */
  #lastSeenMs = new NumberTable();
  #sensorSeenMs = new NumberTable();
  #lastSensor = 0;

  constructor(reader: DatabaseSync) {
    this.#sensors = reader.prepare(
      `SELECT sensor.key, sensor.device, coalesce(latest.received, 0)
        FROM sensor LEFT JOIN latest ON latest.sensor = sensor.key WHERE sensor.key > ? ORDER BY sensor.key`,
    );
    this.#sensors.setReturnArrays(true);
    this.#sensorsOf = reader.prepare('SELECT key FROM sensor WHERE device = ?');
    this.#sensorsOf.setReturnArrays(true);
    // SQL function for the registry's queries.
    reader.function('device_last_seen', (device) => this.#lastSeenMs.get(device as number));
  }

  /** Forgets everything; the next update reads it again. */
  clear(): void {
    this.#deviceOf = new NumberTable();
    this.#lastSeenMs = new NumberTable();
    this.#sensorSeenMs = new NumberTable();
    this.#lastSensor = 0;
  }

  /** A sensor of the device was removed: it was last seen when one of the others was. */
  recount(device: number): void {
    let seenMs = 0;
    for (const row of this.#sensorsOf.iterate(device)) {
      const [sensor] = row as unknown as readonly [number];
      seenMs = Math.max(seenMs, this.#sensorSeenMs.get(sensor));
    }
    this.#lastSeenMs.replace(device, seenMs);
  }

  /** @param lastSeen pairs of a sensor and the time at which its last datapoint was received (head-last-seen.ts). */
  update(lastSeen: Float64Array): void {
    for (const row of this.#sensors.iterate(this.#lastSensor)) {
      const [sensor, device, receivedMs] = row as unknown as readonly [number, number, number];
      this.#deviceOf.replace(sensor, device);
      this.#update(device, sensor, receivedMs);
      this.#lastSensor = sensor;
    }
    for (let at = 0; at < lastSeen.length; at += 2) {
      const sensor = lastSeen[at] as number;
      const device = this.#deviceOf.get(sensor);
      // 0: the sensor was removed before its device was looked up.
      if (device !== 0) this.#update(device, sensor, lastSeen[at + 1] as number);
    }
  }

  #update(device: number, sensor: number, receivedMs: number): void {
    if (receivedMs > this.#sensorSeenMs.get(sensor)) this.#sensorSeenMs.replace(sensor, receivedMs);
    if (receivedMs > this.#lastSeenMs.get(device)) this.#lastSeenMs.replace(device, receivedMs);
  }
}
