// SQLite for the suites of engines/shared/mqtt.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MqttEngine } from '../../shared/mqtt/mqtt-runs.suite.ts';
import type { EmbeddedEngine } from '../embedded-engine.ts';
import { openEmbeddedEngine } from '../open.ts';
import { SqliteMqttTables } from './mqtt-tables.ts';

export const sqlite: MqttEngine = {
  name: 'SQLite',
  make: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dundun-'));
    let engine: EmbeddedEngine | undefined;
    const opened = () => engine as EmbeddedEngine;
    return {
      open: async () => {
        engine = await openEmbeddedEngine(folder);
        const { writer, reader } = engine;
        return new SqliteMqttTables({ writer, reader });
      },
      close: () => opened().close(),
      count: async (table) => (opened().reader.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n,
      fill: async (table, count, columns) => {
        const sql = `INSERT INTO ${table} (${Object.keys(columns).join(', ')})
          WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})
          SELECT ${Object.values(columns).join(', ')} FROM numbers`;
        await opened().writer.write([{ sql, parameters: [] }]);
      },
      remove: () => rm(folder, { recursive: true }),
    };
  },
};
