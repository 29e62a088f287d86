// Checks of the file: is it an intact SQLite database with the schema of this release?
import type { DatabaseSync } from 'node:sqlite';
import { adviceOnDamage, type Check } from './check.ts';

export const structureChecks: readonly Check[] = [
  {
    name: 'pages',
    asks: 'every page of the file is where it belongs, and indexes agree with their tables',
    isForAnyForm: true,
    *run(database) {
      for (const row of database.prepare('PRAGMA integrity_check').iterate()) {
        const what = String(row['integrity_check']);
        if (what !== 'ok') yield { what, advice: adviceOnDamage };
      }
    },
  },
  {
    name: 'references',
    asks: 'what belongs to a record has that record',
    isForAnyForm: true,
    *run(database) {
      for (const { table, parent, rowid } of database.prepare('PRAGMA foreign_key_check').iterate()) {
        const what = `Row ${rowid ?? '(without a number)'} of ${table} belongs to a ${parent} that is not there.`;
        yield { what, where: { table: String(table) }, advice: `Remove that row of ${table}, or restore a backup.` };
      }
    },
  },
  {
    name: 'tables',
    asks: 'tables and indexes are those of this version',
    *run(database, example) {
      const have = schemaOf(database);
      const advice = 'Find out who changed the form of the database; the service relies on it.';
      for (const [name, sql] of schemaOf(example)) {
        const found = have.get(name);
        if (found === undefined) yield { what: `There is no ${name}.`, advice };
        else if (found !== sql) yield { what: `The ${name} is not as it should be.`, advice };
      }
    },
  },
];

function schemaOf(database: DatabaseSync): Map<string, string> {
  const rows = database.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'").all();
  return new Map(rows.map(({ type, name, sql }) => [`${type} ${name}`, String(sql)]));
}
