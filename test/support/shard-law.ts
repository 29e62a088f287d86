// What a statement must look like so that Citus runs it on one shard: wherever it names a distributed table, that place says which value of the
// table's column it means, as a parameter. A strict look at texts, no parser: a statement that goes to one shard in a way that it does not know is
// refused all the same. What goes to several shards is named here, and nothing else may.
import { type DistributedTable, distributedTables } from '../../src/engines/postgres/database/distributed-tables.ts';

/** Statements that go to several shards, by their whole text (white space aside), with how often they are run. None is part of a push or a read of a sensor. */
const sweeps: readonly { readonly sql: RegExp; readonly when: string }[] = [
  { sql: /^SELECT sensor FROM series WHERE pass = \$1$/, when: 'sealing, once a pass' },
  {
    sql: /^SELECT sensor, position, at, stamped, received, number, text FROM series WHERE sensor = ANY\(CAST\(\$1 AS bigint\[\]\)\) AND at IS NOT NULL$/,
    when: 'a list of the last values of several sensors',
  },
  {
    sql: /^SELECT series\.sensor, .* FROM series WHERE series\.sensor = ANY\(CAST\(\$1 AS bigint\[\]\)\) AND series\.at IS NOT NULL$/,
    when: 'a search by last values',
  },
  {
    sql: /^INSERT INTO heard \(sensor, received\) SELECT sensor, received FROM series WHERE received IS NOT NULL /,
    when: 'once a start',
  },
  {
    sql: /^SELECT sensor FROM series WHERE sensor = ANY\(CAST\(\$1 AS bigint\[\]\)\) LIMIT \$2$/,
    when: 'removed sensors',
  },
  { sql: /^TRUNCATE log_bytes_\d$/, when: 'when the log turns to the table' },
];

/** A name that a statement may give a table, and that stands for it in the same place. */
const aliases: Readonly<Record<string, string>> = { series: 'old' };

/** @returns why the statement may go to several shards; undefined where it goes to one, or to none. */
export function severalShards(statement: string): string | undefined {
  const sql = statement
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, ' ')
    .trim();
  for (const { table, column } of distributedTables) {
    for (const place of placesOf(sql, table)) {
      if (!isOfOneShard(place, { table, column })) return `${table} without one ${column}: ${place.trim()}`;
    }
  }
  return undefined;
}

export function isSweep(statement: string): boolean {
  const sql = statement.replaceAll(/\s+/g, ' ').trim();
  return sweeps.some(({ sql: known }) => known.test(sql));
}

/** The text of each pair of parentheses, and of the whole, that names the table itself: without what is in parentheses within. */
function placesOf(sql: string, table: string): string[] {
  const found: string[] = [];
  const open: string[] = [''];
  const isNamed = new RegExp(`\\b(FROM|JOIN|INTO|UPDATE|ONLY|USING|TABLE|TRUNCATE|,) ${table}\\b`);
  const end = (text: string) => {
    if (isNamed.test(text)) found.push(text);
  };
  for (const letter of sql) {
    if (letter === '(') open.push('');
    else if (letter === ')') {
      const inner = open.pop() as string;
      end(inner);
      // Lists of columns and of values are needed to find the column of an INSERT.
      open.push(`${open.pop()}(${inner.includes('SELECT') ? '' : inner})`);
    } else open.push(`${open.pop()}${letter}`);
  }
  end(open[0] as string);
  return found;
}

function isOfOneShard(place: string, { table, column }: Pick<DistributedTable, 'table' | 'column'>): boolean {
  const insert = new RegExp(`INSERT INTO ${table} (?:AS \\w+ )?\\(([^)]*)\\) VALUES \\(([^)]*)\\)`).exec(place);
  if (insert !== null) {
    const at = insert[1]?.split(',').findIndex((name) => name.trim() === column) ?? -1;
    return /^ ?\$\d+$/.test(insert[2]?.split(',')[at] ?? '');
  }
  // In its place it is the only table: an equality is of its column.
  const names = [`${table}\\.`, `${aliases[table] ?? table}\\.`, ''].join('|');
  const equality = new RegExp(`\\b(?:WHERE|AND) (?:${names})${column} = \\$\\d+\\b`);
  const isAlternative = / OR /.test(place);
  return equality.test(place) && !isAlternative && tablesIn(place) <= 1 + copies(place);
}

/** How many tables a place names. */
function tablesIn(place: string): number {
  return [...place.matchAll(/\b(?:FROM|JOIN|INTO|UPDATE) "?[a-z_]\w*/g)].length;
}

/** A copy within a group names two tables, and one column for both. */
function copies(place: string): number {
  return /INSERT INTO \w+ \(\bsensor\b[^)]*\) SELECT sensor\b/.test(place) ? 1 : 0;
}
