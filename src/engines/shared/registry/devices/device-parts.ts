// Statements that insert sensors and actuators of a device: all those of a new device at once, or one, which may
// replace another with its id. Used by device-store.ts.
import { type Compilable, type Expression, sql } from 'kysely';
import type { DeviceKey } from '../../../../domain/device-key.ts';
import type { ActuatorDraft } from '../../../../domain/devices/actuator.ts';
import type { SensorDraft } from '../../../../domain/devices/sensor.ts';
import type { Registry } from '../registry.ts';
import type { EntryType } from '../sql-dialect.ts';
import { actuatorColumns, sensorColumns } from './device-rows.ts';

type PartRow = Readonly<Record<string, string | number | null>>;

type PartColumns = Readonly<Record<string, EntryType>>;

const columnsOfSensor: PartColumns = {
  ...{ id: 'text', kind_name: 'text', name: 'text', kind: 'text', quantity_kind: 'text', unit: 'text' },
  ...{ calib: 'text', meta: 'text', retention_days: 'integer' },
};
const columnsOfActuator: PartColumns = {
  ...{ id: 'text', name: 'text', actuator_kind: 'text', value_type: 'text', value: 'text', meta: 'text' },
  valid_for: 'integer',
};

// Posting an existing id replaces its whole description (contract 4), so fields that are not given are removed. The
// datapoints of a sensor, their retention, and the value of an actuator are not part of the description.
const noDescription = {
  sensor: { name: null, kind: null, quantity_kind: null, unit: null, calib: null, meta: null },
  actuator: { name: null, actuator_kind: null, value_type: null, meta: null, valid_for: null },
};

/** @param device its key, which is not known before the same transaction has stored it. */
export function insertSensors(
  registry: Registry,
  device: Expression<number>,
  drafts: readonly SensorDraft[],
): Compilable[] {
  const rows = drafts.map((draft) => ({ ...sensorColumns(draft), id: draft.id }));
  return insertParts(registry, device, { table: 'sensor', columns: columnsOfSensor, rows });
}

export function insertActuators(
  registry: Registry,
  device: Expression<number>,
  drafts: readonly ActuatorDraft[],
): Compilable[] {
  const rows = drafts.map((draft) => ({ ...actuatorColumns(draft), id: draft.id }));
  return insertParts(registry, device, { table: 'actuator', columns: columnsOfActuator, rows });
}

/** All parts of a new device in one statement: a device may have thousands, and each statement takes a place in the queue. */
function insertParts(
  { dialect, read }: Registry,
  device: Expression<number>,
  { table, columns, rows }: { table: 'sensor' | 'actuator'; columns: PartColumns; rows: readonly PartRow[] },
): Compilable[] {
  if (rows.length === 0) return [];
  const names = Object.keys(columns);
  const json = JSON.stringify(rows.map((row) => names.map((name) => row[name] ?? null)));
  const entries = dialect.rows(sql`${json}`, columns);
  const insert = sql`INSERT INTO ${sql.table(table)} (device, ${sql.join(names.map((name) => sql.ref(name)))})
    SELECT ${device}, ${sql.join(names.map((name) => sql.ref(`entry.${name}`)))}
    FROM ${entries} AS entry ORDER BY entry.position`;
  return [{ compile: () => insert.compile(read) }];
}

/** Inserts the sensor, or replaces the description of the one with its id. */
export function replaceSensor({ read }: Registry, device: DeviceKey, draft: SensorDraft): Compilable {
  const columns = sensorColumns(draft);
  const insert = read
    .insertInto('sensor')
    .values({ ...columns, kind_name: draft.kindName, device: sql.lit(device), id: draft.id });
  return insert.onConflict((conflict) =>
    conflict.columns(['device', 'id']).doUpdateSet({ ...noDescription.sensor, ...columns }),
  );
}

/** Inserts the actuator, or replaces the description of the one with its id. */
export function replaceActuator({ read }: Registry, device: DeviceKey, draft: ActuatorDraft): Compilable {
  const columns = actuatorColumns(draft);
  const insert = read.insertInto('actuator').values({ ...columns, device: sql.lit(device), id: draft.id });
  return insert.onConflict((conflict) =>
    conflict.columns(['device', 'id']).doUpdateSet({ ...noDescription.actuator, ...columns }),
  );
}
