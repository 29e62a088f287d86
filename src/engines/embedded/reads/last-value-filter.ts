// SQL functions of the search thread for filters on last values (shared/registry/conditions/last-value.ts). The log is read
// once for each search, from its end, in the search's own snapshot: the first datapoint found of a sensor is its last one, and
// only a number and a bit for each test are kept of it. Sensors without datapoints in the log are looked up among the sealed
// ones when they are asked for. Nothing is kept from one search to the next.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { rowNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { parseCalibration } from '../../../domain/devices/calibration.ts';
import { NumberTable } from '../../shared/head/number-table.ts';
import type { LogPiece } from '../../shared/log/log-piece.ts';
import { noSensor } from '../../shared/log/no-sensor.ts';
import {
  areMet,
  LastDatapoint,
  type LastValueTest,
  metBy,
  metByNumber,
  parseLastValueTests,
} from '../../shared/registry/conditions/last-value.ts';
import { fromColumn, type ValueColumn } from '../database/value-column.ts';
import { readLogFromEnd } from '../log/log.ts';

/** A sensor with its calibration and what `latest` has of it. */
type SensorRow = readonly [
  sensor: number,
  calib: string | null,
  at: number | null,
  stamped: number,
  received: number,
  value: ValueColumn | null,
];

/** Sensors that are looked at between two looks at the clock. */
const sensorsAtOnce = 64;

export class LastValueFilter {
  readonly #database: DatabaseSync;
  readonly #sealedSeq: StatementSync;
  readonly #sensors: StatementSync;
  readonly #checkTime: () => void;
  #tests: readonly LastValueTest[] = [];
  #logged = new LoggedValues([]);

  /** @param checkTime throws when the time of the search is up. */
  constructor(database: DatabaseSync, checkTime: () => void) {
    this.#database = database;
    this.#checkTime = checkTime;
    this.#sealedSeq = database.prepare("SELECT value FROM counter WHERE name = 'sealed_seq'");
    // `octet_length` reads no page of a long text; `length` would read them all.
    this.#sensors = database.prepare(
      `SELECT sensor.key, sensor.calib, latest.at, latest.stamped, latest.received,
          CASE WHEN typeof(latest.value) = 'real' OR octet_length(latest.value) <= ${limits.filterValueBytesMax} THEN latest.value END
        FROM sensor LEFT JOIN latest ON latest.sensor = sensor.key WHERE sensor.device = ?`,
    );
    this.#sensors.setReturnArrays(true);
    // Node.js keeps what a function is given until the whole statement has ended: so these get a number for each device,
    // and the text once.
    database.function('last_value_tests', (asked) => this.#begin(asked as string));
    database.function('last_values_meet', (device, _tests) => Number(this.#meets(device as number)));
  }

  /** Forgets what was read for a search. */
  clear(): void {
    this.#tests = [];
    this.#logged = new LoggedValues([]);
  }

  /** Reads the log, and returns how many tests there are. */
  #begin(asked: string): number {
    this.#tests = parseLastValueTests(asked);
    this.#logged = new LoggedValues(this.#tests);
    const after = Number(this.#sealedSeq.get()?.['value'] ?? 0);
    for (const piece of readLogFromEnd(this.#database, { after })) {
      this.#checkTime();
      this.#logged.addEarlier(piece);
    }
    return this.#tests.length;
  }

  /** Whether the device meets all tests. */
  #meets(device: number): boolean {
    // Bit n: a sensor meets test n.
    let met = 0;
    let looked = 0;
    for (const row of this.#sensors.iterate(device) as Iterable<unknown> as Iterable<SensorRow>) {
      if (looked % sensorsAtOnce === 0) this.#checkTime();
      looked += 1;
      met |= this.#metBy(row);
    }
    if (looked === 0) this.#checkTime();
    return areMet(this.#tests, met);
  }

  #metBy([sensor, calib, at, stamped, received, value]: SensorRow): number {
    const logged = this.#logged.find(sensor);
    if (logged === undefined && at === null) return 0;
    const point =
      logged ??
      new LastDatapoint({
        value: value === null ? undefined : fromColumn(value),
        timestampMs: stamped === 1 ? (at as number) : undefined,
        receivedMs: received,
      });
    const met = point instanceof LastDatapoint ? metBy(this.#tests, point) : point.met;
    if (Number.isNaN(point.number)) return met;
    const calibration = calib === null ? undefined : parseCalibration(JSON.parse(calib), '/calib');
    return met | metByNumber(this.#tests, point.number, calibration);
  }
}

/** Which last datapoints of the log meet which test. */
class LoggedValues {
  readonly #tests: readonly LastValueTest[];
  /** By sensor: its place in the arrays, from 1. */
  readonly #places = new NumberTable();
  /** Values that are numbers; NaN for others. */
  #numbers = new Float64Array(1_024);
  /** As `metBy` says. A filter has no more conditions than there are bits (`filterConditionsMax`). */
  #met = new Uint32Array(1_024);
  #count = 0;

  constructor(tests: readonly LastValueTest[]) {
    this.#tests = tests;
  }

  /** Undefined where the sensor has no datapoint in the log. */
  find(sensor: number): { readonly number: number; readonly met: number } | undefined {
    const place = this.#places.get(sensor);
    if (place === 0) return undefined;
    return { number: this.#numbers[place - 1] as number, met: this.#met[place - 1] as number };
  }

  /** Takes in a piece of the log that lies before all that were taken in. */
  addEarlier({ rows, texts }: LogPiece): void {
    let text = texts.length;
    for (let at = rows.length - rowNumbers; at >= 0; at -= rowNumbers) {
      const sensor = rows[at] as number;
      if (sensor === noSensor) continue;
      const number = rows[at + 3] as number;
      const stored = Number.isNaN(number) ? (texts[--text] as string) : number;
      if (this.#places.get(sensor) !== 0) continue;
      const timestampMs = rows[at + 1] as number;
      const isLong = typeof stored === 'string' && Buffer.byteLength(stored) > limits.filterValueBytesMax;
      const point = new LastDatapoint({
        value: isLong ? undefined : stored,
        timestampMs: Number.isNaN(timestampMs) ? undefined : timestampMs,
        receivedMs: rows[at + 2] as number,
      });
      this.#add(sensor, point);
    }
  }

  #add(sensor: number, point: LastDatapoint): void {
    if (this.#count === this.#numbers.length) this.#grow();
    this.#numbers[this.#count] = point.number;
    this.#met[this.#count] = metBy(this.#tests, point);
    this.#count += 1;
    this.#places.replace(sensor, this.#count);
  }

  #grow(): void {
    const [numbers, met] = [this.#numbers, this.#met];
    this.#numbers = new Float64Array(2 * numbers.length);
    this.#numbers.set(numbers);
    this.#met = new Uint32Array(2 * met.length);
    this.#met.set(met);
  }
}
