// Everything that one process tells the other processes on the same data. Each kind is a change of records that they
// hold in memory, or a message that their subscribers must get. Plain values, because another engine may send them
// over a network. What each process does on them is in wiring/wire-announcements.ts.

import type { OriginalMessage } from '../datapoints/feed.ts';
import type { ActuatorId } from '../devices/actuator.ts';
import type { DeviceId } from '../devices/device.ts';
import type { SensorId, SensorKey } from '../devices/sensor.ts';
import type { SettingId } from '../devices/setting.ts';
import type { GatewayId } from '../gateways/gateway.ts';
import type { NotificationId } from '../notifications/rules/notification.ts';
import type { SessionRevocation } from '../users/session-revocation.ts';
import type { User, UserKey } from '../users/user.ts';

/** The names under which a user is looked up and cached. */
export type UserNames = Pick<User, 'key' | 'id' | 'username'>;

export type Announcement =
  /** A user was created, changed or has a new password. */
  | { readonly kind: 'user-changed'; readonly user: UserNames }
  /** The removal of a user begins (they are no longer found) or has ended. */
  | { readonly kind: 'user-leaving'; readonly user: UserNames; readonly isLeaving: boolean }
  /** API keys were revoked, or name other devices. */
  | { readonly kind: 'keys-changed' }
  /** Refresh sessions were ended. */
  | { readonly kind: 'refresh-sessions-changed' }
  /** A sign-in has ended, and with it every connection that uses it. */
  | { readonly kind: 'sign-in-revoked'; readonly revocation: SessionRevocation }
  /** A device, one of its parts or a share of it was changed, or it was handed over. */
  | { readonly kind: 'device-changed'; readonly device: DeviceId }
  /** Ids lead to other devices than before, or to none: rules that watch these devices must be looked for again. */
  | { readonly kind: 'device-ids-changed'; readonly devices: readonly DeviceId[] }
  /** Stored datapoints of a sensor were removed or corrected, or it was moved: its last value may be another. */
  | { readonly kind: 'datapoints-changed'; readonly sensor: SensorKey }
  /** An actuator was set; each process delivers this to its subscribers and live streams. */
  | {
      readonly kind: 'actuator-set';
      readonly device: DeviceId;
      readonly actuator: ActuatorId;
      readonly valueJson: string;
      readonly setting: SettingId | undefined;
      readonly original: OriginalMessage | undefined;
    }
  /** The removal of a device or a sensor begins (nothing is accepted for it) or has ended. */
  | {
      readonly kind: 'device-leaving';
      readonly device: DeviceId;
      readonly sensor?: SensorId | undefined;
      readonly isLeaving: boolean;
    }
  /** A gateway was changed, handed over or removed; without an id, any gateway may have been. */
  | { readonly kind: 'gateway-changed'; readonly gateway?: GatewayId }
  | { readonly kind: 'guest-access-changed' }
  | { readonly kind: 'quotas-changed'; readonly user: UserKey }
  /** A rule was created, changed or removed. */
  | { readonly kind: 'rule-changed'; readonly rule: NotificationId }
  /** Alarms have changed: live streams look for what is new. */
  | { readonly kind: 'alarms-changed' }
  /** Messages wait on these channels; the process that sends must look at them. */
  | { readonly kind: 'messages-waiting'; readonly channels: readonly string[] }
  /**
   * A client of this user connects under this id: the process that serves the id must end its session. Refused
   * (`exists`) where the id stays with somebody else.
   */
  | { readonly kind: 'client-id-taken'; readonly clientId: string; readonly user: UserKey }
  /** This user declares a gateway of this id. Refused (`exists`) where it is the client id of somebody else. */
  | { readonly kind: 'client-id-reserved'; readonly clientId: string; readonly user: UserKey }
  /**
   * Changes may have been missed, because a process died, maybe between a change and its announcement. Each of the others notices that by
   * itself. `servers`: those that are there; whatever others had begun has ended.
   */
  | { readonly kind: 'anything-changed'; readonly servers?: readonly string[] };

/**
 * What a process does on each kind of announcement; resolves when the change is applied. Handlers for client ids may
 * throw a Refusal, which the announcing process gets. `server`: who announces it.
 */
export type AnnouncementHandlers = {
  readonly [K in Announcement['kind']]: (
    announcement: Extract<Announcement, { readonly kind: K }>,
    server: string,
  ) => Promise<void>;
};
