// The history of SQLite's schema: all migrations, by number. A new one is added at the end; one that has been released is
// never changed. Another engine begins with a schema of its own for the same tables (docs/decisions/0028).
import type { Migration } from 'kysely/migration';
import * as quotas from './0017-quotas.ts';
import * as pushCharges from './0018-push-charges.ts';
import * as mqttOwners from './0019-mqtt-owners.ts';
import * as webhookKeys from './0020-webhook-keys.ts';
import * as nameSkeletons from './0021-name-skeletons.ts';
import * as handoversAndSessions from './0022-handovers-and-sessions.ts';
import * as refreshSessionTable from './0023-refresh-session-table.ts';
import * as handoverCharges from './0024-handover-charges.ts';
import * as hysteresisCounted from './0025-hysteresis-counted.ts';
import * as formerRecipients from './0026-former-recipients.ts';
import * as fingerprintsOfSessions from './0027-fingerprints-of-sessions.ts';
import * as deletions from './0028-deletions.ts';
import * as movedSensors from './0029-moved-sensors.ts';
import * as actuatorSettings from './0030-actuator-settings.ts';
import * as codesAndCredit from './0031-codes-and-credit.ts';
import * as sharesOfRecords from './0032-shares-of-records.ts';
import * as accountLinks from './0033-account-links.ts';
import * as formerIds from './0034-former-ids.ts';
import * as formerSensorIds from './0035-former-sensor-ids.ts';
import * as alarms from './0036-alarms.ts';
import * as messageOccasions from './0037-message-occasions.ts';
import * as mqtt5 from './0038-mqtt5.ts';
import * as ground from './earlier/0001-ground.ts';
import * as mqttSessions from './earlier/0002-mqtt-sessions.ts';
import * as usersAndKeys from './earlier/0003-users-and-keys.ts';
import * as gatewaysAndProjects from './earlier/0004-gateways-and-projects.ts';
import * as notifications from './earlier/0005-notifications.ts';
import * as logOfBatches from './earlier/0006-log-of-batches.ts';
import * as deviceList from './earlier/0008-device-list.ts';
import * as outbox from './earlier/0009-outbox.ts';
import * as receiptAnswer from './earlier/0010-receipt-answer.ts';
import * as retention from './earlier/0011-retention.ts';
import * as chunks from './earlier/0012-chunks.ts';
import * as deviceOrder from './earlier/0013-device-order.ts';
import * as packedLog from './earlier/0014-packed-log.ts';
import * as logChecksums from './earlier/0015-log-checksums.ts';
import * as settings from './earlier/0016-settings.ts';

export const migrations: Record<string, Migration> = {
  '0001-ground': ground,
  '0002-mqtt-sessions': mqttSessions,
  '0003-users-and-keys': usersAndKeys,
  '0004-gateways-and-projects': gatewaysAndProjects,
  '0005-notifications': notifications,
  '0006-log-of-batches': logOfBatches,
  '0008-device-list': deviceList,
  '0009-outbox': outbox,
  '0010-receipt-answer': receiptAnswer,
  '0011-retention': retention,
  '0012-chunks': chunks,
  '0013-device-order': deviceOrder,
  '0014-packed-log': packedLog,
  '0015-log-checksums': logChecksums,
  '0016-settings': settings,
  '0017-quotas': quotas,
  '0018-push-charges': pushCharges,
  '0019-mqtt-owners': mqttOwners,
  '0020-webhook-keys': webhookKeys,
  '0021-name-skeletons': nameSkeletons,
  '0022-handovers-and-sessions': handoversAndSessions,
  '0023-refresh-session-table': refreshSessionTable,
  '0024-handover-charges': handoverCharges,
  '0025-hysteresis-counted': hysteresisCounted,
  '0026-former-recipients': formerRecipients,
  '0027-fingerprints-of-sessions': fingerprintsOfSessions,
  '0028-deletions': deletions,
  '0029-moved-sensors': movedSensors,
  '0032-shares-of-records': sharesOfRecords,
  '0031-codes-and-credit': codesAndCredit,
  '0033-account-links': accountLinks,
  '0030-actuator-settings': actuatorSettings,
  '0034-former-ids': formerIds,
  '0035-former-sensor-ids': formerSensorIds,
  '0036-alarms': alarms,
  '0037-message-occasions': messageOccasions,
  '0038-mqtt5': mqtt5,
};
