// Opens the standby from which history is read: looks whether it is one of this database, and hands it to the two threads that read. Where it
// cannot be reached, or is no standby at present, the service starts all the same: the primary answers until it can.
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Log } from '../../base/log.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { identityOf } from './database/database-identity.ts';
import type { PostgresDatabase } from './database/postgres-database.ts';
import { StandbyDatabase, type StandbyPlace, StandbyUnfit } from './database/standby-database.ts';
import type { StandbySource } from './reads/chunk-reader.ts';
import { StandbyRows } from './reads/chunk-rows.ts';
import { type StandbyOutcome, StandbyWatch } from './reads/standby-watch.ts';

export interface OpenedStandby {
  readonly place: StandbyPlace;
  /** What has come of all steps, in all threads. */
  readonly watch: StandbyWatch;
  /** For reads of the main thread. */
  readonly source: StandbySource;
  /** Makes the way by which another thread tells what came of its steps. @returns its end of it. */
  listen(): MessagePort;
  close(): Promise<void>;
}

/**
 * @throws Refusal `conflict` where the address leads to another database, or chunks are to lie on other servers; `storage` where the primary
 * does not answer.
 */
export async function openStandby(parts: {
  readonly url: string;
  readonly database: PostgresDatabase;
  readonly log: Log | undefined;
}): Promise<OpenedStandby> {
  const { url, database, log } = parts;
  if (database.isByShard)
    throw new Refusal(
      'conflict',
      'Citus distributes the tables of the database, or is to: a standby of it has no chunks. Take DUNDUN_DATABASE_STANDBY_URL away.',
    );
  const place = { url, identity: await identityOf(<Row>(sql: string) => database.query<Row>(sql)) };
  const standby = new StandbyDatabase(place, { connections: limits.standbyConnections });
  const watch = new StandbyWatch(log);
  try {
    await lookAt(standby, watch);
  } catch (error) {
    await standby.close();
    throw error;
  }
  const rows = new StandbyRows((sql, parameters) => database.query(sql, parameters), standby);
  return {
    ...{ place, watch, source: { rows, note: (outcome) => watch.note(outcome) } },
    listen: () => listenTo(watch),
    close: () => standby.close(),
  };
}

async function lookAt(standby: StandbyDatabase, watch: StandbyWatch): Promise<void> {
  try {
    const [row] = await standby.query<{ isStandby: number }>('SELECT pg_is_in_recovery() AS "isStandby"');
    if (row?.isStandby !== 1)
      watch.warn({ reason: 'promoted', detail: 'It takes writes of its own: it is no standby.' });
  } catch (error) {
    if (!(error instanceof StandbyUnfit)) throw error;
    if (error.reason === 'other')
      throw new Refusal(
        'conflict',
        'DUNDUN_DATABASE_STANDBY_URL leads to another database than DUNDUN_DATABASE_URL. It must be a standby of that one, made by its own replication.',
      );
    watch.warn({ reason: error.reason, detail: error.message });
  }
}

function listenTo(watch: StandbyWatch): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.on('message', (outcome: StandbyOutcome) => watch.note(outcome));
  port1.unref();
  return port2;
}
