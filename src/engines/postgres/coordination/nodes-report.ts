// Reads what the database knows of the servers on it: for a server that is asked, and for `dundun nodes`, which reads beside them, and
// without one.
import { limits } from '../../../config/limits.ts';
import type { NodeFigures, NodeReport, NodesReport } from '../../../domain/ports/nodes.ts';
import { migrate } from '../database/migrate.ts';
import { PostgresDatabase } from '../database/postgres-database.ts';

interface NodeRow extends Omit<NodeReport, 'leases' | 'isAlive' | 'isOwn' | 'figures'> {
  readonly leases: string;
  /** NULL until the server has told of itself; so are those that follow. */
  readonly release: string | null;
  readonly host: string;
  readonly http: number;
  readonly mqtt: number;
  readonly rate: number;
}

/** @param own the id of the server that asks. */
export async function listNodes(
  database: Pick<PostgresDatabase, 'query'>,
  { own }: { readonly own?: string | undefined } = {},
): Promise<NodeReport[]> {
  const rows = await database.query<NodeRow>(nodesSql, [limits.serversMax, limits.nodeLeasesShown]);
  return rows.map(({ leases, release, host, http, mqtt, rate, ...node }) => {
    const figures: NodeFigures | undefined =
      release === null ? undefined : { host, release, connections: { http, mqtt }, datapointsPerSecond: rate };
    return {
      ...node,
      isOwn: node.id === own,
      isAlive: node.silentMs < limits.nodeDeadMs,
      leases: JSON.parse(leases) as string[],
      figures,
    };
  });
}

/** @throws Refusal `storage`; `conflict` where a newer release wrote the database. */
export async function readNodes(url: string): Promise<NodesReport> {
  await migrate(url);
  const database = new PostgresDatabase(url);
  try {
    const nodes = await listNodes(database);
    const connections = await database.query<{ name: string; count: number }>(connectionsSql, []);
    return { nodes, connections };
  } finally {
    await database.close();
  }
}

const msOf = (time: string) => `CAST(round(extract(epoch FROM ${time}) * 1000) AS bigint)`;

const nodesSql = `SELECT id, ${msOf('started')} AS "startedMs", ${msOf('least(renewed, clock_timestamp())')} AS "lastSeenMs",
    greatest(0, ${msOf('(clock_timestamp() - renewed)')}) AS "silentMs",
    (SELECT count(*) FROM announcement WHERE announcement.node <> node.id AND seq > followed) AS behind,
    greatest(0, (SELECT position - 1 FROM log_end) - followed_position) AS "behindLog",
    (SELECT coalesce(jsonb_agg(name ORDER BY name), '[]') FROM
      (SELECT name FROM lease WHERE holder = node.id ORDER BY name LIMIT $2) AS held)::text AS leases,
    release, coalesce(host, '') AS host, coalesce(http_connections, 0) AS http, coalesce(mqtt_connections, 0) AS mqtt,
    coalesce(datapoints_per_second, 0) AS rate
  FROM node ORDER BY started, id LIMIT $1`;
/** The name is that of connection-settings.ts; of this command itself there are some, too. */
const connectionsSql = `SELECT substr(application_name, 8) AS name, count(*) AS count FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'dundun %' AND pid <> pg_backend_pid()
  GROUP BY application_name ORDER BY application_name`;
