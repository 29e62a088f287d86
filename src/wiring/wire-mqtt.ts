// Wires what MQTT keeps: for whom, how long, and how much of it. Called by server.ts alone.

import type { Log } from '../base/log.ts';
import type { Clock } from '../base/time/clock.ts';
import { limits } from '../config/limits.ts';
import type { Quotas } from '../domain/quotas/quotas.ts';
import type { UserKey } from '../domain/users/user.ts';
import type { EmbeddedEngine } from '../engines/embedded/embedded-engine.ts';
import { SqliteMqttPersistence } from '../engines/embedded/mqtt/mqtt-persistence.ts';
import { MqttQuotaReads } from '../engines/embedded/mqtt/mqtt-quota-reads.ts';
import type { MqttServer } from '../mqtt/mqtt-server.ts';
import { QuotaLog } from '../mqtt/quota-log.ts';
import { matchesForm } from '../mqtt/topics.ts';

export function makeMqttPersistence(parts: {
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: EmbeddedEngine;
  readonly guest: { readonly key: UserKey };
  readonly quotas: Pick<Quotas, 'onChange'>;
  /** How long a session is kept after its client went away; undefined: for ever. */
  readonly sessionExpiryMs: number | undefined;
  readonly server: () => MqttServer;
}): SqliteMqttPersistence {
  const { clock, log, engine, guest, quotas, sessionExpiryMs, server } = parts;
  const quotaReads = new MqttQuotaReads(engine.reader, clock);
  quotas.onChange((user) => quotaReads.forget(user));
  const quotaLog = new QuotaLog({ clock, log });
  return new SqliteMqttPersistence({
    writer: engine.writer,
    reader: engine.reader,
    matchesForm,
    mayReceive: (user, { topic = '', user: publisher }) =>
      user !== undefined && server().access.mayKeep(user, { topic, user: publisher }),
    isInUse: (clientId) => server().sessions.isInUse(clientId),
    expiryMsOf: (user) => (user === guest.key ? limits.guestSessionExpiryMs : sessionExpiryMs),
    quotas: {
      guest: guest.key,
      quotaOf: (user) => quotaReads.of(user),
      onRefused: (user, kind) => quotaLog.note(user, kind),
    },
    clock,
    log,
  });
}
