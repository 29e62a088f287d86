// Codes of rules become numbers (contract 7), and a user may have a credit of paid messages a day. A code that is not a
// number, such as a time-out, was not given by a provider; it is removed, and the reason stored with it stays.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const toNumber = (column: string) => [
  `ALTER TABLE notification ADD COLUMN code INTEGER`,
  `UPDATE notification SET code = CAST(${column} AS INTEGER)
    WHERE ${column} <> '' AND length(${column}) <= 9 AND ${column} NOT GLOB '*[^0-9]*'`,
  `ALTER TABLE notification DROP COLUMN ${column}`,
  `ALTER TABLE notification RENAME COLUMN code TO ${column}`,
];

const statements = [
  ...toNumber('last_success_code'),
  ...toNumber('last_failure_code'),
  // NULL: no other cap than the setting.
  'ALTER TABLE user ADD COLUMN sms_credit INTEGER',
];
