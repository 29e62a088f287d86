// The port MqttSessions on PostgreSQL, put together. Called by the engine.
import type { Log } from '../../../base/log.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { trusted } from '../../../base/time/clock-watch.ts';
import type { MqttSessionRules, MqttSessions } from '../../../domain/ports/mqtt-sessions.ts';
import { MqttPersistence } from '../../shared/mqtt/mqtt-persistence.ts';
import type { WrittenFormats } from '../database/formats.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import { PostgresMqttQuotaReads } from './mqtt-quota-reads.ts';
import { PostgresMqttTables } from './mqtt-tables.ts';
import type { HandedOnLog } from './session-handover.ts';

export interface OpenedMqttSessions {
  readonly sessions: MqttSessions;
  /** Gives up the connection, where nobody has called `destroy`. */
  close(): Promise<void>;
}

export function openMqttSessions(
  { guest, onRefused, onQuotaChange, ...rules }: MqttSessionRules,
  {
    database,
    clock,
    log,
    holder,
    handedOn,
    written,
  }: {
    readonly database: PostgresDatabase;
    readonly clock: Clock;
    readonly log?: Log | undefined;
    /** The row of this server in `node`. */
    readonly holder: string;
    readonly handedOn: HandedOnLog;
    /** The forms in which this server writes. */
    readonly written: WrittenFormats;
  },
): OpenedMqttSessions {
  const quotaReads = new PostgresMqttQuotaReads(database, clock);
  onQuotaChange((user) => quotaReads.forget(user));
  const tables = new PostgresMqttTables({ database, log, holder, handedOn, written });
  const quotas = {
    guest,
    quotaOf: quotaReads.of.bind(quotaReads),
    learn: quotaReads.learn.bind(quotaReads),
    onRefused,
  };
  const sessions = new MqttPersistence({
    ...rules,
    tables,
    quotas,
    clocks: rules.clocks ?? trusted(clock),
    ...(log && { log }),
  });
  return { sessions, close: () => tables.close() };
}
