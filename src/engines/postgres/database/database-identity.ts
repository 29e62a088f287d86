// Tells one database from every other, so that a standby of another one is not taken for ours: copies that are made by the server's
// own replication have all of it in common.

/** What of a database is the same on its standbys, and nowhere else. */
export interface DatabaseIdentity {
  /** Its number in its cluster. */
  readonly database: string;
  /** When its first migration was run. */
  readonly made: string;
  /** The number of the cluster; null where the role may not ask for it. */
  readonly cluster: string | null;
}

type Ask = <Row>(sql: string) => Promise<readonly Row[]>;

const insufficientPrivilege = '42501';
const identitySql = `SELECT CAST(oid AS text) AS database,
    (SELECT CAST(timestamp AS text) FROM kysely_migration ORDER BY name LIMIT 1) AS made
  FROM pg_database WHERE datname = current_database()`;
const clusterSql = 'SELECT CAST(system_identifier AS text) AS cluster FROM pg_control_system()';

/** @param ask runs a statement in the database, whose tables are made. */
export async function identityOf(ask: Ask): Promise<DatabaseIdentity> {
  const [{ database, made } = { database: '', made: '' }] = await ask<Omit<DatabaseIdentity, 'cluster'>>(identitySql);
  return { database, made, cluster: await clusterOf(ask) };
}

export function isSameDatabase(one: DatabaseIdentity, other: DatabaseIdentity): boolean {
  const isSameCluster = one.cluster === null || other.cluster === null || one.cluster === other.cluster;
  return isSameCluster && one.database === other.database && one.made === other.made;
}

async function clusterOf(ask: Ask): Promise<string | null> {
  try {
    return (await ask<{ cluster: string }>(clusterSql))[0]?.cluster ?? null;
  } catch (error) {
    if ((error as { code?: string }).code === insufficientPrivilege) return null;
    throw error;
  }
}
