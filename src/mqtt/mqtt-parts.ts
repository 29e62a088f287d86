// What the MQTT server is given by the wiring.
import type { Log } from '../base/log.ts';
import type { SecurityHeaders } from '../base/network/security-headers.ts';
import type { ConnectionAdmission } from '../base/network/sockets.ts';
import type { TrustedProxies } from '../base/network/trusted-proxies.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import type { Downlinks } from '../domain/actuators/downlinks.ts';
import type { ByteBudget } from '../domain/callers/byte-budget.ts';
import type { FairShare } from '../domain/callers/fair-share.ts';
import type { OwnClients } from '../domain/clients/own-clients.ts';
import type { Feed } from '../domain/datapoints/feed.ts';
import type { CommittedPushesOf } from '../domain/datapoints/followed-pushes.ts';
import type { Writer } from '../domain/datapoints/ingest/writer.ts';
import type { CommitLog } from '../domain/ports/commit-log.ts';
import type { MqttSessions } from '../domain/ports/mqtt-sessions.ts';
import type { SessionRevocations } from '../domain/users/session-revocations.ts';
import type { UserKey } from '../domain/users/user.ts';
import type { Users } from '../domain/users/users.ts';
import type { MqttOptions } from './mqtt-options.ts';
import type { PublishingParts } from './publishing.ts';
import type { SignInParts } from './sign-in.ts';

export interface MqttParts
  extends Omit<PublishingParts, 'access' | 'clear' | 'isUnderWay' | 'retained'>,
    Omit<SignInParts, 'sessions' | 'onGone' | 'settled' | 'restKept'> {
  readonly options: MqttOptions;
  readonly proxies: TrustedProxies;
  readonly securityHeaders: SecurityHeaders;
  readonly stored: MqttSessions;
  /** Messages between clients of several processes. */
  readonly relays: Pick<CommitLog, 'relay' | 'onRelayed' | 'caughtUp'>;
  readonly feed: Feed;
  /** What other processes have pushed, as it goes to the feed. */
  readonly committedPushesOf: CommittedPushesOf;
  readonly downlinks: Downlinks;
  readonly ownClients: Pick<OwnClients, 'follow'>;
  readonly byteBudget: ByteBudget;
  readonly passing: FairShare;
  readonly connections: ConnectionAdmission;
  readonly writer: Writer;
  readonly users: Users;
  readonly revocations: SessionRevocations;
  readonly guest: { readonly key: UserKey };
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly log: Log;
}
