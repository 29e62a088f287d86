// Handovers, and bounds on them, so that they are no way around a quota. A device or gateway that was handed over counts for
// some time for who gave it, up to their own quota, and for who received it, up to half of what they have left. Triggers
// count and refuse in the transaction of the change. What an admin hands over has no row. A part of migration 0001.
import { onlyIf, trigger } from './triggers.ts';

const kinds = ['devices', 'sensors', 'gateways', 'description_bytes'];

const columnsOf = (side: 'given' | 'received') => kinds.map((kind) => `${side}_${kind}`);

const count = (user: string, sign: '+' | '-', side: 'given' | 'received', row: 'new' | 'old') =>
  `UPDATE handover_usage SET ${kinds.map((kind) => `${side}_${kind} = ${side}_${kind} ${sign} ${row}.${kind}`)}
    WHERE "user" = ${user};`;

/** The trigger's message names the kind, the use and the limit, as those of quotas do. */
const givenTrigger = (kind: string) =>
  trigger(
    `handover_given_${kind}`,
    `AFTER UPDATE OF given_${kind} ON handover_usage`,
    `DECLARE bound bigint; BEGIN ${onlyIf(
      `new.given_${kind} > old.given_${kind}`,
      `SELECT quota.max INTO bound FROM quota
        WHERE quota."user" = new."user" AND quota.kind = '${kind}' AND quota.max < new.given_${kind};
      IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'DU002', MESSAGE = 'quota handed_over_${kind} ' || old.given_${kind} || ' ' || bound;
      END IF;`,
    )} END;`,
  );

/**
 * The message says what others have given, not what the receiver has. Rows are added before the owner changes, so the
 * amount is added to the usage here; what exceeds the whole quota is left to the trigger of quotas.
 */
const receivedTrigger = (kind: string) => {
  const usedThen = `usage.${kind} + new.received_${kind} - old.received_${kind}`;
  const isTooMuch = `EXISTS (SELECT 1 FROM quota JOIN usage ON usage."user" = quota."user"
    WHERE quota."user" = new."user" AND quota.kind = '${kind}'
      AND quota.max >= ${usedThen} AND new.received_${kind} > quota.max - (${usedThen}))`;
  return trigger(
    `handover_received_${kind}`,
    `AFTER UPDATE OF received_${kind} ON handover_usage`,
    onlyIf(
      `new.received_${kind} > old.received_${kind}`,
      onlyIf(
        isTooMuch,
        `RAISE EXCEPTION USING ERRCODE = 'DU002',
          MESSAGE = 'quota received_${kind} ' || old.received_${kind} || ' ' || old.received_${kind};`,
      ),
    ),
  );
};

export const handoverStatements: readonly string[] = [
  `CREATE TABLE handover (
    device bigint PRIMARY KEY REFERENCES device (key),
    former bigint REFERENCES "user" (key),
    receiver bigint NOT NULL REFERENCES "user" (key),
    at bigint NOT NULL,
    shares text COLLATE "C" NOT NULL,
    keys text COLLATE "C" NOT NULL)`,
  'CREATE INDEX handover_at ON handover (at)',
  'CREATE INDEX handover_former ON handover (former)',
  'CREATE INDEX handover_receiver ON handover (receiver, at)',
  // kind: device or gateway; record: its key. The amounts are those of the moment of the handover.
  `CREATE TABLE handover_charge (
    kind text COLLATE "C" NOT NULL,
    record bigint NOT NULL,
    giver bigint NOT NULL,
    receiver bigint NOT NULL,
    at bigint NOT NULL,
    ${kinds.map((kind) => `${kind} bigint NOT NULL`).join(', ')},
    PRIMARY KEY (kind, record))`,
  'CREATE INDEX handover_charge_at ON handover_charge (at)',
  `CREATE TABLE handover_usage (
    "user" bigint PRIMARY KEY,
    ${[...columnsOf('given'), ...columnsOf('received')].map((column) => `${column} bigint NOT NULL DEFAULT 0`).join(', ')})`,
  ...trigger(
    'handover_charge_added',
    'AFTER INSERT ON handover_charge',
    `INSERT INTO handover_usage ("user") VALUES (new.giver), (new.receiver) ON CONFLICT DO NOTHING;
    ${count('new.giver', '+', 'given', 'new')} ${count('new.receiver', '+', 'received', 'new')}`,
  ),
  ...trigger(
    'handover_charge_removed',
    'AFTER DELETE ON handover_charge',
    `${count('old.giver', '-', 'given', 'old')} ${count('old.receiver', '-', 'received', 'old')}`,
  ),
  // The shares were kept, or the device was given back or removed.
  ...trigger(
    'handover_charge_answered',
    'AFTER DELETE ON handover',
    `DELETE FROM handover_charge WHERE kind = 'device' AND record = old.device;`,
  ),
  ...trigger(
    'handover_charge_gateway_removed',
    'AFTER DELETE ON gateway',
    `DELETE FROM handover_charge WHERE kind = 'gateway' AND record = old.key;`,
  ),
  ...trigger(
    'handover_usage_user_removed',
    'AFTER DELETE ON "user"',
    'DELETE FROM handover_usage WHERE "user" = old.key;',
  ),
  ...kinds.flatMap((kind) => [...givenTrigger(kind), ...receivedTrigger(kind)]),
];
