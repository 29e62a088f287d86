// Is what the registry keeps as text what it should be?
import type { Check } from './check.ts';

/** Columns that hold JSON, or nothing. */
const jsonColumns: Readonly<Record<string, readonly string[]>> = {
  user: ['profile'],
  device: ['location', 'meta'],
  sensor: ['calib', 'meta'],
  actuator: ['value', 'meta'],
  gateway: ['location'],
  project: ['device_ids', 'gateway_ids'],
  api_key: ['scopes', 'devices'],
  notification: ['condition', 'action'],
  notification_memory: ['memory'],
};

export const registryChecks: readonly Check[] = [
  {
    name: 'records',
    asks: 'fields that hold JSON can be read',
    *run(database) {
      for (const [table, columns] of Object.entries(jsonColumns)) {
        for (const column of columns) {
          const bad = database.prepare(
            `SELECT * FROM "${table}" WHERE "${column}" IS NOT NULL AND NOT json_valid("${column}")`,
          );
          for (const row of bad.iterate()) {
            const id = row['id'] ?? row['key'] ?? row['notification'];
            const what = `The field ${column} of ${table} ${id} is no JSON.`;
            yield { what, where: { table }, advice: `Set ${column} of that ${table} anew.` };
          }
        }
      }
    },
  },
  {
    name: 'visibility',
    asks: 'devices and gateways are public or private',
    *run(database) {
      for (const table of ['device', 'gateway']) {
        const bad = database.prepare(
          `SELECT id, visibility FROM ${table} WHERE visibility NOT IN ('public', 'private')`,
        );
        for (const { id, visibility } of bad.iterate()) {
          const what = `The ${table} ${id} has the visibility ${JSON.stringify(visibility)}.`;
          yield { what, where: { table }, advice: `Set the visibility of that ${table} anew.` };
        }
      }
    },
  },
];
