// Imported before the service in tests (`node --import`), in each of its threads: makes of it the release after this one, with a migration
// that this one can live with, one that it cannot, and newer forms of rows of the log and of chunks.
import { type Kysely, sql } from 'kysely';
import { formats } from '../../src/engines/postgres/database/formats.ts';
import { type MarkedMigration, migrations } from '../../src/engines/postgres/database/migrations/migrations.ts';

const running = (...statements: readonly string[]) => ({
  up: async (db: Kysely<unknown>) => {
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
});

const next: Record<string, MarkedMigration> = {
  '9001-next-adding': {
    kind: 'adding',
    ...running(
      'CREATE TABLE next_note (one integer PRIMARY KEY)',
      'ALTER TABLE node ADD COLUMN next integer DEFAULT 0',
    ),
  },
  // A server that tells nothing of its release could not join any more.
  '9002-next-closing': { kind: 'closing', ...running('ALTER TABLE node ALTER COLUMN knows SET NOT NULL') },
};

Object.assign(migrations, next);
for (const kind of ['log', 'chunk'] as const) Object.assign(formats[kind], { newest: formats[kind].newest + 1 });
