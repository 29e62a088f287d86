// The history of PostgreSQL's schema: all migrations, by number, each with what it means for servers of the release before. A new one is
// added at the end; one that has been released is never changed. SQLite's are others (docs/decisions/0028).
import type { Migration } from 'kysely/migration';
import * as registry from './0001-registry.ts';
import * as log from './0002-log.ts';
import * as mqtt from './0003-mqtt.ts';
import * as formerIds from './0004-former-ids.ts';
import * as alarms from './0005-alarms.ts';
import * as announcements from './0006-announcements.ts';
import * as messageOccasions from './0007-message-occasions.ts';
import * as mqtt5 from './0008-mqtt5.ts';
import * as nodes from './0009-nodes.ts';
import * as nodeFigures from './0010-node-figures.ts';
import * as releases from './0011-releases.ts';
import * as distribution from './0012-distribution.ts';
import * as keptRows from './0013-kept-rows.ts';
import * as questions from './0014-questions.ts';
import * as removedParts from './0015-removed-parts.ts';

/**
 * `alone`: it is run while no server is on the database. `adding`: a server of the release before can go on, and start; it is run beside
 * such. `closing`: those could not; it is run when every living server knows it, and whoever does not know it must not start any more.
 */
export type MigrationKind = 'alone' | 'adding' | 'closing';

export interface MarkedMigration extends Migration {
  readonly kind: MigrationKind;
}

export const migrations: Record<string, MarkedMigration> = {
  '0001-registry': { kind: 'alone', up: registry.up },
  '0002-log': { kind: 'alone', up: log.up },
  '0003-mqtt': { kind: 'alone', up: mqtt.up },
  '0004-former-ids': { kind: 'alone', up: formerIds.up },
  '0005-alarms': { kind: 'alone', up: alarms.up },
  '0006-announcements': { kind: 'alone', up: announcements.up },
  '0007-message-occasions': { kind: 'alone', up: messageOccasions.up },
  '0008-mqtt5': { kind: 'alone', up: mqtt5.up },
  '0009-nodes': { kind: 'alone', up: nodes.up },
  '0010-node-figures': { kind: 'alone', up: nodeFigures.up },
  '0011-releases': { kind: 'adding', up: releases.up },
  '0012-distribution': { kind: 'adding', up: distribution.up },
  '0013-kept-rows': { kind: 'adding', up: keptRows.up },
  '0014-questions': { kind: 'adding', up: questions.up },
  '0015-removed-parts': { kind: 'closing', up: removedParts.up },
};
