// Removing a device takes time in proportion to its sensors, not to their square: its thousands are taken from the usage of its owner at
// once, and only where somebody is charged for its datapoints is it looked whether any is left. Counts are as they were.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/** The columns that count as description, as in 0001-registry-quotas.ts. */
const texts = {
  sensor: ['id', 'name', 'kind', 'quantity_kind', 'unit', 'calib', 'meta'],
  actuator: ['id', 'name', 'actuator_kind', 'value_type', 'value', 'meta'],
} as const;

/** In place of a change of usage for each row: all versions that a transaction makes of a row are looked through for the next. */
function countAtOnce(table: 'sensor' | 'actuator'): string[] {
  const bytes = texts[table].map((column) => `coalesce(octet_length(gone.${column}), 0)`).join(' + ');
  const sensors = table === 'sensor' ? 'sensors = sensors - less.count,' : '';
  return [
    `DROP TRIGGER usage_${table}_removed ON ${table}`,
    `DROP FUNCTION usage_${table}_removed()`,
    `CREATE FUNCTION usage_${table}_removed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      UPDATE usage SET ${sensors} description_bytes = description_bytes - less.bytes
        FROM (SELECT device.owner, count(*) AS count, sum(${bytes}) AS bytes
          FROM gone JOIN device ON device.key = gone.device GROUP BY device.owner) AS less
        WHERE usage."user" = less.owner;
      RETURN NULL;
    END $$`,
    `CREATE TRIGGER usage_${table}_removed AFTER DELETE ON ${table} REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION usage_${table}_removed()`,
  ];
}

const statements = [
  ...countAtOnce('sensor'),
  ...countAtOnce('actuator'),
  // First whether anybody is charged: the rest looks through all rows of the device, those that are removed included.
  `CREATE OR REPLACE FUNCTION push_charge_sensor_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE share double precision;
    BEGIN
      IF NOT EXISTS (SELECT 1 FROM push_charge WHERE device = old.device) THEN RETURN NULL; END IF;
      DELETE FROM push_charge WHERE device = old.device AND NOT EXISTS (SELECT 1 FROM sensor WHERE device = old.device);
      IF FOUND THEN RETURN NULL; END IF;
      share := least(1.0, CAST(sealed_datapoints(old.key) AS double precision)
        / greatest(1, (SELECT sum(datapoints) FROM push_charge WHERE device = old.device)));
      UPDATE push_charge SET
          bytes = bytes - CAST(trunc(bytes * share) AS bigint),
          datapoints = datapoints - CAST(trunc(datapoints * share) AS bigint)
        WHERE device = old.device;
      RETURN NULL;
    END $$`,
];
