// Reads what the database knows of the servers on it, for `dundun nodes`; beside them, and without one.
import { limits } from '../../../config/limits.ts';
import type { NodeReport, NodesReport } from '../../../domain/ports/nodes-report.ts';
import { migrate } from '../database/migrate.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';

interface NodeRow extends Omit<NodeReport, 'leases' | 'isAlive'> {
  readonly leases: string;
}

/** @throws Refusal `storage`; `conflict` where a newer release wrote the database. */
export async function readNodes(url: string): Promise<NodesReport> {
  await migrate(url);
  const database = new PostgresDatabase(url);
  try {
    const rows = await database.query<NodeRow>(nodesSql, []);
    const connections = await database.query<{ name: string; count: number }>(connectionsSql, []);
    const nodes = rows.map(({ leases, ...node }) => ({
      ...node,
      isAlive: node.silentMs < limits.nodeDeadMs,
      leases: JSON.parse(leases) as string[],
    }));
    return { nodes, connections };
  } finally {
    await database.close();
  }
}

const msOf = (time: string) => `CAST(round(extract(epoch FROM ${time}) * 1000) AS bigint)`;

const nodesSql = `SELECT id, ${msOf('started')} AS "startedMs", ${msOf('(clock_timestamp() - renewed)')} AS "silentMs",
    (SELECT count(*) FROM announcement WHERE announcement.node <> node.id AND seq > followed) AS behind,
    greatest(0, (SELECT position - 1 FROM log_end) - followed_position) AS "behindLog",
    (SELECT coalesce(jsonb_agg(name ORDER BY name), '[]') FROM lease WHERE holder = node.id)::text AS leases
  FROM node ORDER BY started, id`;
/** The name is that of connection-settings.ts; of this command itself there are some, too. */
const connectionsSql = `SELECT substr(application_name, 8) AS name, count(*) AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'dundun %' AND pid <> pg_backend_pid()
  GROUP BY application_name ORDER BY application_name`;
