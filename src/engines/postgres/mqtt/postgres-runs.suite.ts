// PostgreSQL for the suites of engines/shared/mqtt.
import { createDatabase, dropDatabase } from '../../../../test/support/postgres.ts';
import type { MqttEngine } from '../../shared/mqtt/mqtt-runs.suite.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';
import { PostgresMqttTables } from './mqtt-tables.ts';

/** Tables whose rows belong to a node. */
const ofNode = ['mqtt_session', 'mqtt_message', 'mqtt_queue'];

export const postgres: MqttEngine = {
  name: 'PostgreSQL',
  make: async () => {
    const url = await createDatabase();
    let database: PostgresDatabase | undefined;
    let tables: PostgresMqttTables | undefined;
    const query = <Row>(sql: string) => (database as PostgresDatabase).query<Row>(sql);
    return {
      open: async () => {
        database = new PostgresDatabase(url);
        tables = new PostgresMqttTables({ database });
        return tables;
      },
      close: async () => {
        await tables?.close();
        await database?.close();
      },
      count: async (table) => (await query<{ n: number }>(`SELECT count(*) AS n FROM ${table}`))[0]?.n ?? 0,
      fill: async (table, count, columns) => {
        const all = ofNode.includes(table) ? { ...columns, node: '0' } : columns;
        await query(`INSERT INTO ${table} (${Object.keys(all).join(', ')})
          SELECT ${Object.values(all).join(', ')} FROM generate_series(1, ${count}) AS n`);
      },
      remove: () => dropDatabase(url),
    };
  },
};
