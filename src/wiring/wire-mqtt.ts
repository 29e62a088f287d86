// Opens the storage of MQTT sessions with rules that the engine cannot know: which users may receive a message, which
// client ids are in use, how long sessions are kept. Called by server.ts alone.

import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import type { ClockWatch } from '../base/time/clock-watch.ts';
import { limits } from '../config/limits.ts';
import type { Engine } from '../domain/ports/engine.ts';
import type { MqttSessions } from '../domain/ports/mqtt-sessions.ts';
import type { Quotas } from '../domain/quotas/quotas.ts';
import type { UserKey } from '../domain/users/user.ts';
import type { MqttServer } from '../mqtt/mqtt-server.ts';
import { QuotaLog } from '../mqtt/quota-log.ts';
import { matchesForm } from '../mqtt/topics.ts';

export function openMqttSessions(parts: {
  readonly clock: Clock;
  readonly clocks: ClockWatch;
  readonly log: Log;
  readonly engine: Engine;
  readonly guest: { readonly key: UserKey };
  readonly quotas: Pick<Quotas, 'onChange'>;
  /** How long a session is kept after its client has disconnected, in milliseconds; undefined: for ever. */
  readonly sessionExpiryMs: number | undefined;
  /** A function, because the server is made after the storage that it needs. */
  readonly server: () => MqttServer;
}): MqttSessions {
  const { clock, clocks, log, engine, guest, quotas, sessionExpiryMs, server } = parts;
  const quotaLog = new QuotaLog({ clock, log });
  return engine.openMqttSessions({
    clocks,
    matchesForm,
    mayReceive: (user, { topic = '', user: publisher }) =>
      user !== undefined && server().access.mayKeep(user, { topic, user: publisher }),
    isInUse: (clientId) => server().sessions.isInUse(clientId),
    expiryMsOf: (user) => (user === guest.key ? limits.guestSessionExpiryMs : sessionExpiryMs),
    guest: guest.key,
    onRefused: (user, kind) => quotaLog.note(user, kind),
    onQuotaChange: (listener) => quotas.onChange(listener),
  });
}
