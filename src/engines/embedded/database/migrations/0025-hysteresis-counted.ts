// The expression of a hysteresis counts as description of its rule, as the condition does; and two tables get the names
// that the code uses. The triggers are those of migration 0017 with one column more.
import { type Kysely, sql } from 'kysely';
import { countedUsage } from '../../../shared/registry/accounts/usage-count.ts';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const texts = ['id', 'description', 'condition', 'action', 'hysteresis', 'recovery_message'];
const bytes = (row: string) => texts.map((column) => `coalesce(octet_length(${row}.${column}), 0)`).join(' + ');

function add(row: string, { rules, amount }: { readonly rules: string; readonly amount: string }): string {
  return `UPDATE usage SET rules = rules + (${rules}), description_bytes = description_bytes + (${amount})
    WHERE user = ${row}.author;`;
}

const added = add('new', { rules: '1', amount: bytes('new') });
const removed = add('old', { rules: '-1', amount: `-(${bytes('old')})` });
const described = `UPDATE usage SET description_bytes = description_bytes + (${bytes('new')}) - (${bytes('old')})
  WHERE user = new.author;`;

const statements = [
  'ALTER TABLE kept_log RENAME TO replay_backlog',
  'ALTER TABLE quiet_run RENAME TO rules_skipped',
  ...['added', 'removed', 'handed_over', 'described'].map((when) => `DROP TRIGGER usage_notification_${when}`),
  `CREATE TRIGGER usage_notification_added AFTER INSERT ON notification BEGIN ${added} END`,
  `CREATE TRIGGER usage_notification_removed AFTER DELETE ON notification BEGIN ${removed} END`,
  `CREATE TRIGGER usage_notification_handed_over AFTER UPDATE OF author ON notification WHEN new.author <> old.author
    BEGIN ${removed} ${added} END`,
  `CREATE TRIGGER usage_notification_described AFTER UPDATE OF ${texts.join(', ')} ON notification
    WHEN new.author = old.author BEGIN ${described} END`,
  // Users who come to exceed their quota by this recount keep what they have: the trigger that refuses is made afterwards.
  'DROP TRIGGER quota_description_bytes',
  `UPDATE usage SET description_bytes = counted.description_bytes FROM (${countedUsage.select}) AS counted
    WHERE counted.user = usage.user`,
  `CREATE TRIGGER quota_description_bytes AFTER UPDATE OF description_bytes ON usage
    WHEN new.description_bytes > old.description_bytes BEGIN
    SELECT RAISE(ABORT, 'full') FROM growth WHERE allowed = 0;
    SELECT RAISE(ABORT, 'quota description_bytes ' || old.description_bytes || ' ' || quota.max) FROM quota
      WHERE quota.user = new.user AND quota.kind = 'description_bytes' AND quota.max < new.description_bytes;
  END`,
];
