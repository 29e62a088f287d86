// Several servers on one database (docs/decisions/0055). The row of `log_end` gives each row of the log its number and its
// position, whichever server appends it, and says to which table of the ring. Servers say in `node` how far they have read.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = 'text COLLATE "C"';
const rings = [0, 1, 2, 3];
const columns = 'writer, seq, number, position, count, bytes';

const statements = [
  // A row in which all appends change the same place: room for the versions that are not needed any more.
  `CREATE TABLE log_end (
    one integer PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    ring integer NOT NULL,
    number bigint NOT NULL,
    position bigint NOT NULL)
    WITH (fillfactor = 10)`,
  // number: its place among the rows of all writers, without a gap.
  ...rings.map((ring) => `ALTER TABLE log_${ring} ADD COLUMN number bigint`),
  ...rings.map(
    (ring) => `UPDATE log_${ring} AS old SET number = one.number
      FROM (SELECT writer, seq, row_number() OVER (ORDER BY position, writer, seq) AS number FROM log) AS one
      WHERE one.writer = old.writer AND one.seq = old.seq`,
  ),
  ...rings.flatMap((ring) => [
    `ALTER TABLE log_${ring} ALTER COLUMN number SET NOT NULL`,
    `CREATE UNIQUE INDEX log_${ring}_number ON log_${ring} (number)`,
  ]),
  'DROP VIEW log',
  `CREATE VIEW log AS ${rings.map((ring) => `SELECT ${ring} AS ring, ${columns} FROM log_${ring}`).join(' UNION ALL ')}`,
  `INSERT INTO log_end (ring, number, position) SELECT
    coalesce((SELECT ring FROM log ORDER BY number DESC LIMIT 1), 0),
    coalesce((SELECT max(number) FROM log), 0),
    1 + greatest(0, (SELECT max(position + count - 1) FROM log), (SELECT max(up_to) FROM seal_pass),
      (SELECT value FROM counter WHERE name = 'followed_seq'))`,
  // up_to_row: the last row of the log that is sealed with the pass.
  'ALTER TABLE seal_pass ADD COLUMN up_to_row bigint NOT NULL DEFAULT 0',
  `UPDATE seal_pass SET up_to_row = coalesce((SELECT max(log.number) FROM log
    JOIN jsonb_array_elements(CAST(seal_pass.positions AS jsonb)) AS one
      ON log.writer = CAST(one ->> 0 AS bigint) AND log.seq <= CAST(one ->> 1 AS bigint)), 0)`,
  'ALTER TABLE seal_pass DROP COLUMN positions',
  // number: of the advisory lock that the server holds while it is connected. seen: the greatest number that it knows. followed_row, followed_position: how far it has
  // read the log.
  'ALTER TABLE node ADD COLUMN number integer GENERATED ALWAYS AS IDENTITY',
  'ALTER TABLE node ADD COLUMN seen integer NOT NULL DEFAULT 0',
  'ALTER TABLE node ADD COLUMN followed_row bigint NOT NULL DEFAULT 0',
  'ALTER TABLE node ADD COLUMN followed_position bigint NOT NULL DEFAULT 0',
  // node: whose fence it is.
  `ALTER TABLE log_writer ADD COLUMN node ${text}`,
  // holder: the server that serves the sessions.
  `ALTER TABLE mqtt_node ADD COLUMN holder ${text}`,
];
