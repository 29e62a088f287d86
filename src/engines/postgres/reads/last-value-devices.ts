// Finds the devices of a filter on last values: reads the sensors in pages, in order of their devices, with what is sealed of them,
// and asks the head for what is not. Called before the search that has the filter (registry/searches.ts).
import { limits } from '../../../config/limits.ts';
import type { StoredValue } from '../../../domain/datapoints/datapoint.ts';
import { parseCalibration } from '../../../domain/devices/calibration.ts';
import type { SensorKey } from '../../../domain/devices/sensor.ts';
import { LastDatapoint, metBy, metByNumber } from '../../shared/registry/conditions/last-value.ts';
import { searchTooLong } from '../../shared/registry/search-queue.ts';
import type { AskedLastValues } from '../database/asked-last-values.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { LogState } from '../log/log-state.ts';

interface SensorRow {
  readonly device: number;
  readonly id: string;
  readonly sensor: SensorKey;
  readonly calib: string | null;
  readonly at: number | null;
  readonly stamped: number;
  readonly received: number;
  readonly number: number | null;
  readonly text: string | null;
}

/** Sensors of a page: the event loop has its turn between two. */
const pageSensors = 2_000;

const ownColumns = 'sensor.device, sensor.id, sensor.key AS sensor, sensor.calib';
const lastColumns = `series.at, series.stamped, series.received, series.number,
    CASE WHEN octet_length(series.text) <= ${limits.filterValueBytesMax} THEN series.text END AS text`;
const page = `WHERE (sensor.device, sensor.id) > ($1, $2) ORDER BY sensor.device, sensor.id LIMIT ${pageSensors}`;
const pageSql = `SELECT ${ownColumns}, ${lastColumns}
  FROM sensor LEFT JOIN series ON series.sensor = sensor.key AND series.at IS NOT NULL ${page}`;
/** By shard, one after the other: the first is of the coordinator alone. */
const sensorsSql = `SELECT ${ownColumns} FROM sensor ${page}`;
const lastSql = `SELECT series.sensor, ${lastColumns} FROM series WHERE series.sensor = ANY(CAST($1 AS bigint[])) AND series.at IS NOT NULL`;

const none = { at: null, stamped: 0, received: 0, number: null, text: null };

export class LastValueDevices {
  readonly #database: Pick<PostgresDatabase, 'search' | 'isByShard'>;
  readonly #state: Pick<LogState, 'head' | 'sealedSeq'>;

  constructor(parts: {
    readonly database: Pick<PostgresDatabase, 'search' | 'isByShard'>;
    readonly state: Pick<LogState, 'head' | 'sealedSeq'>;
  }) {
    this.#database = parts.database;
    this.#state = parts.state;
  }

  /** Keys of the devices that the filter lists. @throws Refusal `busy` where the time of a search is up, or too many are found. */
  async find(asked: AskedLastValues): Promise<number[]> {
    const endMs = performance.now() + limits.searchMsMax;
    const found: number[] = [];
    let [device, id, met] = [0, '', 0];
    const endDevice = () => {
      if (device !== 0 && asked.lists(met)) found.push(device);
      met = 0;
    };
    for (;;) {
      const rows = await this.#page(device, id, endMs);
      for (const row of rows) {
        if (row.device !== device) endDevice();
        ({ device, id } = row);
        met |= this.#metBy(row, asked);
      }
      if (rows.length < pageSensors) break;
      if (found.length > limits.lastValueDevicesMax) throw searchTooLong();
    }
    endDevice();
    return found;
  }

  /** What the head does not have is in the rows, unless it was sealed while they were read: then they are read again. */
  async #page(device: number, id: string, endMs: number): Promise<readonly SensorRow[]> {
    for (;;) {
      if (performance.now() > endMs) throw searchTooLong();
      const { sealedSeq } = this.#state;
      const rows = await this.#rows(device, id);
      if (this.#state.sealedSeq === sealedSeq) return rows;
    }
  }

  async #rows(device: number, id: string): Promise<readonly SensorRow[]> {
    if (!this.#database.isByShard) return this.#database.search<SensorRow>(pageSql, [device, id]);
    const sensors = await this.#database.search<SensorRow>(sensorsSql, [device, id]);
    const last = await this.#database.search<SensorRow>(lastSql, [sensors.map(({ sensor }) => sensor)]);
    const lastOf = new Map(last.map((row) => [row.sensor, row]));
    return sensors.map((row) => ({ ...none, ...lastOf.get(row.sensor), ...row }));
  }

  #metBy(row: SensorRow, { tests }: AskedLastValues): number {
    const point = this.#lastOf(row);
    if (point === undefined) return 0;
    const met = metBy(tests, point);
    if (Number.isNaN(point.number)) return met;
    const calibration = row.calib === null ? undefined : parseCalibration(JSON.parse(row.calib), '/calib');
    return met | metByNumber(tests, point.number, calibration);
  }

  #lastOf({ sensor, at, stamped, received, number, text }: SensorRow): LastDatapoint | undefined {
    const logged = this.#state.head.latest(sensor);
    if (logged !== undefined) return new LastDatapoint({ ...logged, value: ofFilter(logged.value) });
    if (at === null) return undefined;
    const timestampMs = stamped === 1 ? at : undefined;
    return new LastDatapoint({ value: number ?? text ?? undefined, timestampMs, receivedMs: received });
  }
}

/** Longer texts are equal to nothing. */
function ofFilter(value: StoredValue): StoredValue | undefined {
  return typeof value === 'string' && Buffer.byteLength(value) > limits.filterValueBytesMax ? undefined : value;
}
