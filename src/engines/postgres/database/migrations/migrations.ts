// The history of PostgreSQL's schema: all migrations, by number. A new one is added at the end; one that has been released is
// never changed. SQLite's are others (docs/decisions/0028).
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

export const migrations: Record<string, Migration> = {
  '0001-registry': registry,
  '0002-log': log,
  '0003-mqtt': mqtt,
  '0004-former-ids': formerIds,
  '0005-alarms': alarms,
  '0006-announcements': announcements,
  '0007-message-occasions': messageOccasions,
  '0008-mqtt5': mqtt5,
  '0009-nodes': nodes,
  '0010-node-figures': nodeFigures,
};
