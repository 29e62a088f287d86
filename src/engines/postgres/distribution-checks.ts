// What stands in the way of distributing tables by Citus, found before anything is changed. Functions and views of Citus are asked only where the
// extension is there.
import { limits } from '../../config/limits.ts';
import { type DistributedTable, distributedTables, distributionMigration } from './database/distributed-tables.ts';
import type { PostgresDatabase } from './database/postgres-database.ts';

type Asked = Pick<PostgresDatabase, 'query'>;

const names = distributedTables.map(({ table }) => table);

/** Sentences, each with what to do; none where the tables can be distributed. */
export async function hindrances(database: Asked): Promise<string[]> {
  return [...(await ofReleases(database)), ...(await ofCitus(database))];
}

/** Servers of releases that know nothing of it: they would take rows whose bytes lie apart for damaged ones. */
export async function ofReleases(database: Asked): Promise<string[]> {
  const [node] = await database.query<{ found: number }>("SELECT to_regclass('node') IS NOT NULL AS found");
  if (node?.found !== 1) return [];
  const earlier = await database.query<{ id: string }>(earlierSql, [distributionMigration]);
  return earlier.map(
    ({ id }) =>
      `The server ${id} is of a release that cannot go by shard. Update it first; one that was killed counts as dead after some seconds.`,
  );
}

async function ofCitus(database: Asked): Promise<string[]> {
  const [extension] = await database.query<{ version: string }>(
    "SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'",
  );
  if (extension === undefined)
    return [
      'The database has not the extension Citus. On a server that loads it (shared_preload_libraries), a superuser runs: CREATE EXTENSION citus',
    ];
  if (Number.parseInt(extension.version, 10) < limits.citusVersionMin)
    return [`The database has Citus ${extension.version}; at least ${limits.citusVersionMin} is needed.`];
  const found = await Promise.all([ofWorkers(database), ofRights(database), ofTables(database), ofOthers(database)]);
  return found.flat();
}

interface ByCitus {
  readonly column: string;
  /** Tables that have the same lie together. */
  readonly colocation: number;
}

/** The tables of ours that Citus has distributed; none without the extension. */
export async function tablesByCitus(database: Asked): Promise<ReadonlyMap<string, ByCitus>> {
  const extension = await database.query("SELECT 1 FROM pg_extension WHERE extname = 'citus'");
  if (extension.length === 0) return new Map();
  const rows = await database.query<ByCitus & { name: string }>(byCitusSql, [names]);
  return new Map(rows.map(({ name, ...table }) => [name, table]));
}

async function ofWorkers(database: Asked): Promise<string[]> {
  const nodes = await database.query('SELECT node_name FROM citus_get_active_worker_nodes()');
  if (nodes.length === 0)
    return ["The coordinator has no worker. A superuser runs for each of them: SELECT citus_add_node('HOST', 5432)"];
  const settings = await database.query<{ host: string; succeeded: number; result: string }>(
    "SELECT nodename AS host, success AS succeeded, result FROM run_command_on_workers('SHOW synchronous_commit')",
  );
  return settings.flatMap(({ host, succeeded, result }) => {
    if (succeeded !== 1) return [`The worker ${host} does not answer this role: ${result}`];
    // An acknowledgement means stored (I1), and bytes of commits are stored there.
    return result === 'off' || result === 'local'
      ? [`The worker ${host} has synchronous_commit = ${result}; set it to on.`]
      : [];
  });
}

async function ofRights(database: Asked): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE oid = ANY(CAST($1 AS regclass[])) AND NOT pg_has_role(relowner, 'USAGE')`,
    [await present(database)],
  );
  return rows.map(({ name }) => `The table ${name} is not this role's. Use the role that the service uses.`);
}

/** What somebody may have added to the tables. */
async function ofTables(database: Asked): Promise<string[]> {
  const tables = await present(database);
  const foreign = await database.query<{ name: string }>(foreignSql, [tables]);
  const triggers = await database.query<{ name: string; table: string }>(triggersSql, [tables]);
  const unique = await database.query<{ name: string; table: string; columns: string }>(uniqueSql, [tables]);
  const columnOf = new Map(distributedTables.map(({ table, column }) => [table, column]));
  return [
    ...foreign.map(({ name }) => `The foreign key ${name} leaves its group of tables. Drop it.`),
    ...triggers.map(({ name, table }) => `The table ${table} has the trigger ${name}. Drop it.`),
    ...unique
      .filter(({ table, columns }) => !columns.split(' ').includes(columnOf.get(table) as string))
      .map(({ name, table }) => `The unique index ${name} lacks the column ${columnOf.get(table)}. Drop it.`),
  ];
}

/** Tables that were distributed otherwise. */
async function ofOthers(database: Asked): Promise<string[]> {
  const byCitus = await tablesByCitus(database);
  const isOther = ({ table, column, group }: DistributedTable) => {
    const found = byCitus.get(table);
    return found !== undefined && (found.column !== column || found.colocation !== byCitus.get(group)?.colocation);
  };
  return distributedTables
    .filter(isOther)
    .map(
      ({ table, column, group }) =>
        `The table ${table} is distributed otherwise than by ${column} together with ${group}. SELECT undistribute_table('${table}') first.`,
    );
}

/** Before the tables are brought up to date some are not there. */
async function present(database: Asked): Promise<string[]> {
  const rows = await database.query<{ name: string }>(
    'SELECT name FROM unnest(CAST($1 AS text[])) AS one(name) WHERE to_regclass(name) IS NOT NULL',
    [names],
  );
  return rows.map(({ name }) => name);
}

/** The column came with the release before. */
const earlierSql = `SELECT id FROM node WHERE coalesce(to_jsonb(node) ->> 'knows', '') COLLATE "C" < $1 ORDER BY id`;
const byCitusSql = `SELECT pg_class.relname AS name, distribution_column AS column, colocation_id AS colocation FROM citus_tables
  JOIN pg_class ON pg_class.oid = citus_tables.table_name
  WHERE citus_table_type = 'distributed' AND pg_class.relname = ANY($1)`;
const foreignSql = `SELECT conname AS name FROM pg_constraint WHERE contype = 'f'
  AND (conrelid = ANY(CAST($1 AS regclass[])) OR confrelid = ANY(CAST($1 AS regclass[])))`;
const triggersSql = `SELECT tgname AS name, relname AS table FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
  WHERE NOT tgisinternal AND tgrelid = ANY(CAST($1 AS regclass[]))`;
const uniqueSql = `SELECT one.relname AS name, pg_class.relname AS table, string_agg(attname, ' ') AS columns
  FROM pg_index JOIN pg_class ON pg_class.oid = indrelid JOIN pg_class AS one ON one.oid = indexrelid
    JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)
  WHERE indisunique AND indrelid = ANY(CAST($1 AS regclass[])) GROUP BY one.relname, pg_class.relname`;
