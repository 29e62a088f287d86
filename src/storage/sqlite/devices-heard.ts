// When each device was last heard: the latest time at which a datapoint of one of its sensors was received. Lists are put
// in order by it and filtered, of all devices at once, so that it is kept in memory: looking it up among sensors and last
// datapoints costs four times as much. Made at the first question and brought up to date before each further one.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Head } from './head.ts';
import { NumberTable } from './number-table.ts';

export class DevicesHeard {
  readonly #head: Head;
  readonly #sensors: StatementSync;
  /** A sensor stays with its device, and its key is never given again; so what is known stays true. */
  readonly #deviceOf = new NumberTable();
  readonly #heardMs = new NumberTable();
  #lastSensor = 0;
  /** Up to here the head has been looked through; undefined before the first question. */
  #seq: number | undefined;

  constructor(reader: DatabaseSync, head: Head) {
    this.#head = head;
    this.#sensors = reader.prepare(
      `SELECT sensor.key, sensor.device, coalesce(latest.received, 0)
        FROM sensor LEFT JOIN latest ON latest.sensor = sensor.key WHERE sensor.key > ? ORDER BY sensor.key`,
    );
    this.#sensors.setReturnArrays(true);
    // For the registry's queries.
    reader.function('device_heard', (device) => this.#of(device as number));
  }

  /** To be called before the head forgets what has been sealed. Where that cannot be read, all is made anew when it is asked for. */
  beforeSealed(): void {
    if (this.#seq === undefined) return;
    try {
      this.#bringUpToDate();
    } catch {
      this.#seq = undefined;
      this.#lastSensor = 0;
    }
  }

  #of(device: number): number {
    if (this.#seq !== this.#head.lastSeq) this.#bringUpToDate();
    return this.#heardMs.get(device);
  }

  #bringUpToDate(): void {
    for (const row of this.#sensors.iterate(this.#lastSensor)) {
      const [sensor, device, receivedMs] = row as unknown as readonly [number, number, number];
      this.#deviceOf.replace(sensor, device);
      this.#hear(device, receivedMs);
      this.#lastSensor = sensor;
    }
    this.#head.eachBehind(this.#seq ?? 0, (sensor, receivedMs) => {
      const device = this.#deviceOf.get(sensor);
      // A sensor that was removed before it was asked for has none.
      if (device !== 0) this.#hear(device, receivedMs);
    });
    this.#seq = this.#head.lastSeq;
  }

  #hear(device: number, receivedMs: number): void {
    if (receivedMs > this.#heardMs.get(device)) this.#heardMs.replace(device, receivedMs);
  }
}
