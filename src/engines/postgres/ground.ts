// What every other part of the engine on PostgreSQL stands on: the connections, the tables, this process as a node, the registry and
// coordination. Opened by open.ts.
import { type Ids, randomIds } from '../../base/ids.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../base/time/clock.ts';
import type { RegistryStores } from '../../domain/ports/registry-stores.ts';
import type { Registry } from '../shared/registry/registry.ts';
import { sqlStores } from '../shared/registry/registry-stores.ts';
import { Announcements } from './coordination/announcements.ts';
import { Membership } from './coordination/membership.ts';
import { PostgresCoordination } from './coordination/postgres-coordination.ts';
import { PostgresCounts } from './coordination/postgres-counts.ts';
import { PostgresQuestions } from './coordination/questions.ts';
import { PostgresStanding } from './coordination/standing.ts';
import { Upgrade } from './coordination/upgrade.ts';
import { readRefusalOf } from './database/database-error.ts';
import { migrate } from './database/migrate.ts';
import { PostgresDatabase } from './database/postgres-database.ts';
import { assertNoMove } from './move/move-notes.ts';
import { postgresRegistry } from './registry/postgres-registry.ts';
import { RegistryWriter } from './registry/registry-writer.ts';
import { Searches } from './registry/searches.ts';

export interface OpenOptions {
  readonly clock: Clock;
  /** A standby, from which history is read (standby.ts). */
  readonly standbyUrl?: string | undefined;
  readonly log?: Log | undefined;
  readonly ids?: Ids;
}

export interface Ground {
  readonly database: PostgresDatabase;
  readonly membership: Membership;
  readonly writer: RegistryWriter;
  readonly searches: Searches;
  readonly registry: Registry;
  readonly stores: RegistryStores;
  readonly coordination: PostgresCoordination;
  readonly standing: PostgresStanding;
  /** Called after a commit that marked sensors for deletion. */
  onPurge: () => void;
  /** Called when another server has hinted at new rows of the log. */
  onLogHint: () => void;
  close(): Promise<void>;
}

/** @throws Refusal `conflict` where another server uses the database, or a newer release wrote it; `storage`. */
export async function openGround(url: string, { clock, log, ids = randomIds }: OpenOptions): Promise<Ground> {
  const id = ids.uuid();
  const database = new PostgresDatabase(url, { log });
  try {
    await migrate(url);
    await assertNoMove(database);
    const membership = await join(database, id, log);
    const writer = new RegistryWriter({ database, writer: id, isMember: true });
    const searches = new Searches(database);
    const questions = new PostgresQuestions({ database, membership, log });
    const announcements = new Announcements({
      ...{ database, writer, node: id, written: membership.formats, log },
      onUnreadable: (error) => membership.onLost(error),
      isAlone: () => membership.isAlone,
      bury: () => membership.lookAtOthers(),
      onLogHint: () => ground.onLogHint(),
      onQuestionHint: (channel, payload) => questions.hear(channel, payload),
    });
    membership.onDeath = () => announcements.missed();
    const standing = new PostgresStanding(membership);
    const upgrade = new Upgrade({ url, database, written: membership.formats, log });
    upgrade.start();
    const counts = new PostgresCounts({ database, writer, clock, databaseNowMs: membership.databaseNowMs });
    const registry = postgresRegistry({ database, writer, searches, onPurge: () => ground.onPurge() });
    const ground: Ground = {
      ...{ database, membership, writer, searches, registry, standing },
      stores: sqlStores(registry, clock),
      coordination: new PostgresCoordination({ node: id, writer, counts, announcements, questions, standing }),
      onPurge: () => {},
      onLogHint: () => {},
      close: async () => {
        searches.close();
        await upgrade.close();
        await questions.close();
        await announcements.close();
        await writer.close();
        await membership.close();
        await database.close();
      },
    };
    return ground;
  } catch (error) {
    await database.close();
    throw readRefusalOf(error);
  }
}

/** @throws Refusal `conflict`: it may have waited until a move had come to its end. */
async function join(database: PostgresDatabase, id: string, log: Log | undefined): Promise<Membership> {
  const membership = await Membership.join(database, id, log);
  try {
    await assertNoMove(database);
    return membership;
  } catch (error) {
    await membership.close();
    throw error;
  }
}
