// The registry of engines/shared on PostgreSQL.
import type { Kysely } from 'kysely';
import type { Registry } from '../../shared/registry/registry.ts';
import type { Tables } from '../../shared/registry/tables.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { postgresDialect } from '../database/sql-dialect.ts';
import type { RegistryWriter } from './registry-writer.ts';
import type { Searches } from './searches.ts';

export interface RegistryParts {
  readonly database: PostgresDatabase;
  readonly writer: RegistryWriter;
  readonly searches: Searches;
  /** Called after a commit that marked sensors for deletion. */
  readonly onPurge?: () => void;
}

export function postgresRegistry({ database, writer, searches, onPurge }: RegistryParts): Registry {
  return {
    dialect: postgresDialect,
    read: database.read as unknown as Kysely<Tables>,
    search: async (query, options) => (await searches.run(query.compile(), options)) as never,
    write: async (queries, options) => {
      const statements = queries.map((query) => query.compile());
      const changes = await writer.write(statements, options);
      if (options?.purge === true) onPurge?.();
      return changes;
    },
  };
}
