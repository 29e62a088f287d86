// What a process asks another, and the answer (ports/questions.ts): a row each, for a second or two. Unlogged, because neither outlives
// the process that asks, and because whoever asks waits for no disk and no standby.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const text = 'text COLLATE "C"';

const statements = [
  // asker, asked: servers. number: the asker's own. answer: JSON; NULL until there is one.
  `CREATE UNLOGGED TABLE question (
    asked ${text} NOT NULL,
    asker ${text} NOT NULL,
    number bigint NOT NULL,
    body ${text} NOT NULL,
    answer ${text},
    PRIMARY KEY (asked, asker, number))`,
];
