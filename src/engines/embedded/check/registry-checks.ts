// Checks of the registry: is the JSON in its columns valid, are the counters of quotas right?
import { countedUsage, registryKinds } from '../../shared/registry/accounts/usage-count.ts';
import type { Check } from './check.ts';

/** Columns that hold JSON or null, by table. */
const jsonColumns: Readonly<Record<string, readonly string[]>> = {
  user: ['profile'],
  device: ['location', 'meta'],
  sensor: ['calib', 'meta'],
  actuator: ['value', 'meta'],
  actuator_setting: ['value', 'ack'],
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
    name: 'usage',
    asks: 'what users have is counted right for their quotas',
    *run(database) {
      const differs = registryKinds.map((kind) => `usage.${kind} IS NOT counted.${kind}`).join(' OR ');
      const columns = registryKinds.map((kind) => `usage.${kind} AS had_${kind}, counted.${kind}`).join(', ');
      const rows = database.prepare(
        `SELECT user.username, ${columns} FROM (${countedUsage.select}) AS counted
          JOIN user ON user.key = counted.user LEFT JOIN usage ON usage.user = counted.user WHERE ${differs}`,
      );
      for (const row of rows.iterate()) {
        const wrong = registryKinds.filter((kind) => row[`had_${kind}`] !== row[kind]);
        const words = wrong.map((kind) => `${kind} as ${row[`had_${kind}`]}, and has ${row[kind]}`);
        const what = `The user ${row['username']} is counted with ${words.join('; ')}.`;
        const advice = 'Nothing is lost; quotas of that user are reckoned with the wrong figure. Report it as a fault.';
        yield { what, where: { table: 'usage' }, advice };
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
