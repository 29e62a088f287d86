// The MQTT quotas of users, in memory, because every stored message asks for them. Who can wait asks until they are fresh
// (`learn`); others are answered with what is known, and read again in the background. One query for all that wait.
import { LruCache } from '../../../base/memory/lru-cache.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { MqttQuota } from '../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../domain/users/user.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

interface CachedQuota {
  readonly quota: MqttQuota;
  /** By the monotonic clock; -Infinity once it has been changed. */
  readonly atMs: number;
}

interface QuotaRow {
  readonly user: UserKey;
  readonly kind: string;
  readonly max: number | null;
}

export class PostgresMqttQuotaReads {
  readonly #database: Pick<PostgresDatabase, 'query'>;
  readonly #clock: Clock;
  readonly #known = new LruCache<UserKey, CachedQuota>({ weightMax: limits.usersCachedMax });
  /** Users of the next query. */
  #asked = new Set<UserKey>();
  #next: Promise<void> | undefined;

  constructor(database: Pick<PostgresDatabase, 'query'>, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** What is known now. A user of whom nothing is known yet has no bound until the answer comes, milliseconds later. */
  of(user: UserKey): MqttQuota {
    const known = this.#known.get(user);
    if (!this.#isFresh(known)) this.#ask(user).catch(() => {});
    return known?.quota ?? unbounded;
  }

  /** Resolves when the quota of the user is fresh; undefined where it is. @throws Refusal `storage` */
  learn(user: UserKey): Promise<void> | undefined {
    return this.#isFresh(this.#known.get(user)) ? undefined : this.#ask(user);
  }

  /** Called when an admin has changed a quota: what was known holds until it is read again, at once. */
  forget(user: UserKey): void {
    const known = this.#known.get(user);
    if (known === undefined) return;
    this.#known.set(user, { ...known, atMs: Number.NEGATIVE_INFINITY });
    this.#ask(user).catch(() => {});
  }

  #isFresh(known: CachedQuota | undefined): boolean {
    return known !== undefined && this.#clock.elapsedMs() - known.atMs < limits.userFreshMs;
  }

  #ask(user: UserKey): Promise<void> {
    this.#asked.add(user);
    this.#next ??= new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#read());
    return this.#next;
  }

  async #read(): Promise<void> {
    const users = [...this.#asked];
    this.#asked = new Set();
    this.#next = undefined;
    const atMs = this.#clock.elapsedMs();
    const rows = await this.#database.query<QuotaRow>(
      `SELECT "user", kind, max FROM quota WHERE "user" = ANY ($1::bigint[])
        AND kind IN ('mqtt_sessions', 'mqtt_session_bytes', 'retained_bytes')`,
      [users],
    );
    const byUser = Map.groupBy(rows, ({ user }) => user);
    for (const user of users) {
      const found = byUser.get(user) ?? [];
      const max = (kind: string) => found.find((row) => row.kind === kind)?.max ?? Number.POSITIVE_INFINITY;
      const quota = {
        sessions: max('mqtt_sessions'),
        sessionBytes: max('mqtt_session_bytes'),
        retainedBytes: max('retained_bytes'),
      };
      this.#known.set(user, { quota, atMs });
    }
  }
}

const unbounded: MqttQuota = {
  sessions: Number.POSITIVE_INFINITY,
  sessionBytes: Number.POSITIVE_INFINITY,
  retainedBytes: Number.POSITIVE_INFINITY,
};
