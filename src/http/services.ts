// The services that the routes of all versions call; server.ts of src gives them to http-server.ts.
import type { Accounts } from '../domain/accounts/accounts.ts';
import type { RefreshSessions } from '../domain/accounts/refresh-sessions.ts';
import type { Actuators } from '../domain/actuators/actuators.ts';
import type { Callers } from '../domain/callers/callers.ts';
import type { History } from '../domain/datapoints/history/history.ts';
import type { Imports } from '../domain/datapoints/import/imports.ts';
import type { Bulk } from '../domain/datapoints/ingest/bulk.ts';
import type { Ingest } from '../domain/datapoints/ingest/ingest.ts';
import type { Writer } from '../domain/datapoints/ingest/writer.ts';
import type { Devices } from '../domain/devices/devices.ts';
import type { DropLog } from '../domain/devices/drop-log.ts';
import type { Handovers } from '../domain/devices/handovers.ts';
import type { Sharing } from '../domain/devices/sharing.ts';
import type { Gateways } from '../domain/gateways/gateways.ts';
import type { RefusedCalls } from '../domain/gateways/refused-calls.ts';
import type { Keys } from '../domain/keys/keys.ts';
import type { Live } from '../domain/live/live.ts';
import type { Messages } from '../domain/notifications/outbox/messages.ts';
import type { Notifications } from '../domain/notifications/rules/notifications.ts';
import type { PermissionQueries } from '../domain/permissions/permission-queries.ts';
import type { Projects } from '../domain/projects/projects.ts';
import type { Quotas } from '../domain/quotas/quotas.ts';
import type { Sensors } from '../domain/sensors/sensors.ts';
import type { ClockConfirmation } from '../domain/settings/clock-confirmation.ts';
import type { GuestAccessSetting } from '../domain/settings/guest-access.ts';
import type { Logins } from '../domain/users/logins.ts';
import type { Tokens } from './sign-in/tokens.ts';

export interface Services {
  readonly devices: Devices;
  readonly handovers: Handovers;
  readonly sensors: Sensors;
  readonly actuators: Actuators;
  readonly gateways: Gateways;
  readonly projects: Projects;
  readonly sharing: Sharing;
  readonly permissionQueries: PermissionQueries;
  readonly ingest: Ingest;
  /** The line of those who wait for room in the ingest queue. */
  readonly writer: Pick<Writer, 'mayHaveCapacity' | 'onceCapacity'>;
  readonly bulk: Bulk;
  readonly imports: Imports;
  readonly history: History;
  readonly live: Live;
  readonly drops: DropLog;
  readonly notifications: Notifications;
  readonly messages: Messages;
  readonly logins: Logins;
  readonly callers: Callers;
  readonly refusedCalls: RefusedCalls;
  readonly tokens: Tokens;
  readonly refreshSessions: RefreshSessions;
  readonly accounts: Accounts;
  readonly keys: Keys;
  readonly guestAccess: GuestAccessSetting;
  readonly clockConfirmation: ClockConfirmation;
  readonly quotas: Quotas;
}
