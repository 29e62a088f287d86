// Bounds on handovers, so that they are no way around a quota. A device or gateway that was handed over counts for some
// time for who gave it, up to their own quota, and for who received it, up to half of what they have left. As with
// quotas (0017), triggers count and refuse in the transaction of the change. What an admin hands over has no row.
import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db);
}

const kinds = ['devices', 'sensors', 'gateways', 'description_bytes'];

const columnsOf = (side: 'given' | 'received') => kinds.map((kind) => `${side}_${kind}`);

const count = (user: string, sign: '+' | '-', side: 'given' | 'received', row: 'new' | 'old') =>
  `UPDATE handover_usage SET ${kinds.map((kind) => `${side}_${kind} = ${side}_${kind} ${sign} ${row}.${kind}`)}
    WHERE user = ${user};`;

/** The trigger's message names the kind, the use and the limit, as those of quotas do. */
const givenTrigger = (kind: string) =>
  `CREATE TRIGGER handover_given_${kind} AFTER UPDATE OF given_${kind} ON handover_usage
    WHEN new.given_${kind} > old.given_${kind} BEGIN
    SELECT RAISE(ABORT, 'quota handed_over_${kind} ' || old.given_${kind} || ' ' || quota.max) FROM quota
      WHERE quota.user = new.user AND quota.kind = '${kind}' AND quota.max < new.given_${kind};
  END`;

/**
 * The message says what others have given, not what the receiver has. Rows are added before the owner changes, so the
 * amount is added to the usage here; what exceeds the whole quota is left to the trigger of 0017.
 */
const receivedTrigger = (kind: string) => {
  const usedThen = `usage.${kind} + new.received_${kind} - old.received_${kind}`;
  return `CREATE TRIGGER handover_received_${kind} AFTER UPDATE OF received_${kind} ON handover_usage
    WHEN new.received_${kind} > old.received_${kind} BEGIN
    SELECT RAISE(ABORT, 'quota received_${kind} ' || old.received_${kind} || ' ' || old.received_${kind})
      FROM quota JOIN usage ON usage.user = quota.user
      WHERE quota.user = new.user AND quota.kind = '${kind}'
        AND quota.max >= ${usedThen} AND new.received_${kind} > quota.max - (${usedThen});
  END`;
};

const statements = [
  // kind: device or gateway; record: its key. The amounts are those of the moment of the handover.
  `CREATE TABLE handover_charge (
    kind TEXT NOT NULL,
    record INTEGER NOT NULL,
    giver INTEGER NOT NULL,
    receiver INTEGER NOT NULL,
    at INTEGER NOT NULL,
    ${kinds.map((kind) => `${kind} INTEGER NOT NULL`).join(', ')},
    PRIMARY KEY (kind, record)) WITHOUT ROWID`,
  'CREATE INDEX handover_charge_at ON handover_charge (at)',
  `CREATE TABLE handover_usage (
    user INTEGER PRIMARY KEY,
    ${[...columnsOf('given'), ...columnsOf('received')].map((column) => `${column} INTEGER NOT NULL DEFAULT 0`).join(', ')})`,
  `CREATE TRIGGER handover_charge_added AFTER INSERT ON handover_charge BEGIN
    INSERT INTO handover_usage (user) VALUES (new.giver), (new.receiver) ON CONFLICT DO NOTHING;
    ${count('new.giver', '+', 'given', 'new')} ${count('new.receiver', '+', 'received', 'new')} END`,
  `CREATE TRIGGER handover_charge_removed AFTER DELETE ON handover_charge BEGIN
    ${count('old.giver', '-', 'given', 'old')} ${count('old.receiver', '-', 'received', 'old')} END`,
  // The shares were kept, or the device was given back or removed.
  `CREATE TRIGGER handover_charge_answered AFTER DELETE ON handover BEGIN
    DELETE FROM handover_charge WHERE kind = 'device' AND record = old.device; END`,
  `CREATE TRIGGER handover_charge_gateway_removed AFTER DELETE ON gateway BEGIN
    DELETE FROM handover_charge WHERE kind = 'gateway' AND record = old.key; END`,
  'CREATE TRIGGER handover_usage_user_removed AFTER DELETE ON user BEGIN DELETE FROM handover_usage WHERE user = old.key; END',
  ...kinds.flatMap((kind) => [givenTrigger(kind), receivedTrigger(kind)]),
];
