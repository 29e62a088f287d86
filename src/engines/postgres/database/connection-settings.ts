// How every connection to PostgreSQL is made and what is set on it. Numbers come as numbers: 64-bit integers of ours are
// below 2^53, and truth values are 1 and 0 as in SQLite, because the statements of engines/shared are the same for both.
import pg from 'pg';
import { limits } from '../../../config/limits.ts';

const oids = { bool: 16, int8: 20, numeric: 1700 };

const types = {
  getTypeParser(oid: number, format?: string) {
    if (oid === oids.bool) return (text: string) => (text === 't' ? 1 : 0);
    if (oid === oids.int8 || oid === oids.numeric) return Number;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as unknown as pg.CustomTypesConfig;

/** @param name says in `pg_stat_activity` which part of the service it is. */
export function connectionSettings(url: string, name: string): pg.ClientConfig {
  return {
    connectionString: withModesOfLibpq(url),
    application_name: `dundun ${name}`,
    connectionTimeoutMillis: limits.postgresConnectMs,
    keepAlive: true,
    types,
  };
}

/**
 * `sslmode` means what it means to libpq: `require` encrypts, `verify-ca` checks the certificate, `verify-full` also its name. pg alone would take
 * all of them for `verify-full`, and print a warning.
 */
function withModesOfLibpq(url: string): string {
  const parsed = new URL(url);
  if (!['prefer', 'require', 'verify-ca'].includes(parsed.searchParams.get('sslmode') ?? '')) return url;
  parsed.searchParams.set('uselibpqcompat', 'true');
  return parsed.href;
}

/**
 * Set by a statement, not with the connection, because a pool between (PgBouncer) refuses parameters that it does not know.
 * A commit that is acknowledged is on disk (I1), and on the synchronous standby where there is one, whatever the server's own default.
 */
export const sessionSettings = (
  statementMs: number = limits.postgresStatementMs,
) => `SET statement_timeout = ${statementMs};
  SET lock_timeout = ${limits.databaseBusyMs};
  SET idle_in_transaction_session_timeout = ${limits.postgresIdleTransactionMs};
  SET default_transaction_isolation = 'read committed';
  SET jit = off;
  SET client_min_messages = warning;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')`;
