// Reads the MQTT quotas of users (migration 0017) and caches them briefly, because every stored message asks for them.
// Called through mqtt-usage.ts.

import type { DatabaseSync } from 'node:sqlite';
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { MqttQuota } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import { StatementCache } from '../database/statement-cache.ts';

interface CachedQuota {
  readonly quota: MqttQuota;
  readonly atMs: number;
}

export class MqttQuotaReads {
  readonly #statements: StatementCache;
  readonly #clock: Clock;
  readonly #known = new LruCache<UserKey, CachedQuota>({ weightMax: limits.usersCachedMax });

  constructor(reader: DatabaseSync, clock: Clock) {
    this.#statements = new StatementCache(reader);
    this.#clock = clock;
  }

  of(user: UserKey): MqttQuota {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#known.get(user);
    if (known !== undefined && nowMs - known.atMs < limits.userFreshMs) return known.quota;
    const rows = this.#statements.prepare(`SELECT kind, max FROM quota WHERE user = ? AND kind IN
      ('mqtt_sessions', 'mqtt_session_bytes', 'retained_bytes')`);
    const found = rows.all(user) as { kind: string; max: number | null }[];
    const max = (kind: string) => found.find((row) => row.kind === kind)?.max ?? Number.POSITIVE_INFINITY;
    const quota = {
      sessions: max('mqtt_sessions'),
      sessionBytes: max('mqtt_session_bytes'),
      retainedBytes: max('retained_bytes'),
    };
    this.#known.set(user, { quota, atMs: nowMs });
    return quota;
  }

  /** Called when an admin has changed a quota. */
  forget(user: UserKey): void {
    this.#known.delete(user);
  }
}
