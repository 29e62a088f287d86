// What the watcher of rules remembers, in the registry. A firing is one statement for its messages and one for its
// rule, however many there are to tell; both change nothing where the rule is no longer as it was when it was decided.
import { type Compilable, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { DeviceId } from '../../domain/devices/device.ts';
import type { NotificationFields, NotificationId, Status } from '../../domain/notifications/notification.ts';
import { textsOf } from '../../domain/notifications/rule.ts';
import type { RecordedFiring, WatchedRule, WatchRecord, WatchStore } from '../../domain/notifications/watch-store.ts';
import type { SensorKey } from '../../domain/sensors/sensor.ts';
import { Trimming, trimMessages } from './message-rows.ts';
import type { Registry } from './registry.ts';

interface Row {
  readonly key: number;
  readonly id: string;
  readonly author: number;
  readonly condition: string;
  readonly action: string;
  readonly throttling: number;
  readonly expires: number | null;
  readonly hysteresis: string | null;
  readonly hold: number | null;
  readonly silence: number | null;
  readonly recovery_message: string | null;
  readonly times_sent: number;
  readonly last_notification: number | null;
  readonly after_seq: number;
  readonly watched_since: number;
}

export class SqlWatchStore implements WatchStore {
  readonly #registry: Registry;
  readonly #trimming = new Trimming();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async listRules({ after, limit }: { readonly after: number; readonly limit: number }): Promise<WatchedRule[]> {
    const rows = await this.#rules().where('key', '>', after).orderBy('key').limit(limit).execute();
    return this.#withMemories(rows);
  }

  async findRule(id: NotificationId): Promise<WatchedRule | undefined> {
    const [rule] = await this.#withMemories(await this.#rules().where('id', '=', id).execute());
    return rule;
  }

  async placesOf(sensors: readonly SensorKey[]): ReturnType<WatchStore['placesOf']> {
    const rows = await this.#registry.read
      .selectFrom('sensor')
      .innerJoin('device', 'device.key', 'sensor.device')
      .select(['sensor.key', 'sensor.id as sensor', 'device.id as device'])
      .where('sensor.key', 'in', sql<number>`(SELECT value FROM json_each(${JSON.stringify(sensors)}))`)
      .execute();
    return new Map(rows.map(({ key, device, sensor }) => [key, { device, sensor }]));
  }

  async record({ firings, memories, followedSeq }: WatchRecord): Promise<readonly RecordedFiring[]> {
    const queries: RawBuilder<unknown>[] = [];
    // Where the statement stands that tells whether a firing was recorded.
    const told: number[] = [];
    for (const firing of firings) {
      if (firing.messages.length > 0) queries.push(insertMessages(firing));
      told.push(queries.push(updateRule(firing)) - 1);
    }
    for (const { rule, device, memory } of memories) {
      queries.push(sql`INSERT OR REPLACE INTO notification_memory (notification, device, memory)
        SELECT key, ${device}, ${memory} FROM notification WHERE key = ${rule}`);
    }
    for (const { author, messages } of firings)
      if (this.#trimming.isDue(author, messages.length))
        queries.push(...trimMessages(author, messages[0]?.createdMs ?? 0));
    if (followedSeq !== undefined) {
      queries.push(sql`INSERT INTO counter (name, value) VALUES ('followed_seq', ${followedSeq})
        ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`);
    }
    const changes = await this.#registry.write(queries.map((query) => this.#compilable(query)));
    return firings.filter((_, n) => changes[told[n] as number] === 0);
  }

  #compilable(query: RawBuilder<unknown>): Compilable {
    return { compile: () => query.compile(this.#registry.read) };
  }

  #rules() {
    return this.#registry.read
      .selectFrom('notification')
      .select(['key', 'id', 'author', 'condition', 'action', 'throttling', 'expires', 'hysteresis', 'hold', 'silence'])
      .select(['recovery_message', 'times_sent', 'last_notification', 'after_seq', 'watched_since'])
      .where('status', '=', 'active');
  }

  async #withMemories(rows: readonly Row[]): Promise<WatchedRule[]> {
    const remembering = rows.filter(hasMemory).map(({ key }) => key);
    const kept = await this.#registry.read
      .selectFrom('notification_memory')
      .selectAll()
      .where('notification', 'in', sql<number>`(SELECT value FROM json_each(${JSON.stringify(remembering)}))`)
      .execute();
    const memories = Map.groupBy(kept, ({ notification }) => notification);
    return rows.map((row) => ({ ...toRule(row), memories: memories.get(row.key) ?? [] }));
  }
}

function hasMemory({ hysteresis, hold, silence, recovery_message }: Row): boolean {
  return hysteresis !== null || hold !== null || silence !== null || recovery_message !== null;
}

function toRule(row: Row): Omit<WatchedRule, 'memories'> {
  const condition = JSON.parse(row.condition) as NotificationFields['condition'];
  return {
    key: row.key,
    id: row.id,
    author: row.author,
    devices: textsOf(condition['devices']) as readonly DeviceId[],
    hasTimes: row.hold !== null || row.silence !== null,
    fieldsJson: fieldsJson(row),
    expiresMs: row.expires ?? undefined,
    timesSent: row.times_sent,
    lastFiredMs: row.last_notification ?? undefined,
    afterSeq: row.after_seq,
    watchedSinceMs: row.watched_since,
  };
}

/** Put together from texts, because most rules are never asked what they say. */
function fieldsJson({ condition, action, throttling, expires, ...row }: Row): string {
  const rest: Partial<NotificationFields> = {
    status: 'active' satisfies Status,
    throttlingS: throttling,
    ...(expires === null ? {} : { expiresMs: expires }),
    ...(row.hysteresis === null ? {} : { hysteresis: row.hysteresis }),
    ...(row.hold === null ? {} : { forS: row.hold }),
    ...(row.silence === null ? {} : { silenceS: row.silence }),
    ...(row.recovery_message === null ? {} : { recoveryMessage: row.recovery_message }),
  };
  return `{"condition":${condition},"action":${action},${JSON.stringify(rest).slice(1)}`;
}

/** True while the rule is as it was when the firing was decided. */
function isAsDecided({ rule, timesSent }: RecordedFiring): RawBuilder<SqlBool> {
  return sql`notification.key = ${rule} AND notification.status = 'active' AND notification.times_sent = ${timesSent}`;
}

/** Before the rule moves on, because then it is no longer as it was. */
function insertMessages(firing: RecordedFiring): RawBuilder<unknown> {
  const messages = JSON.stringify(
    firing.messages.map(({ id, username, channel, text, state, reason, createdMs }) => {
      return [id, username, channel, text, state, reason ?? null, createdMs, state === 'queued' ? null : createdMs];
    }),
  );
  const field = (n: number) => sql`json_extract(entry.value, ${`$[${n}]`})`;
  return sql`INSERT INTO message (id, author, notification, seq, username, channel, text, state, reason, created, due, finished)
    SELECT ${field(0)}, notification.author, notification.key, ${firing.seq ?? null}, ${field(1)}, ${field(2)}, ${field(3)},
      ${field(4)}, ${field(5)}, ${field(6)}, ${field(6)}, ${field(7)}
    FROM notification, json_each(${messages}) AS entry WHERE ${isAsDecided(firing)}`;
}

/** A recovery changes nothing of the rule itself; the statement only tells whether the rule is as it was. */
function updateRule(firing: RecordedFiring): RawBuilder<unknown> {
  const { isCounted, atMs, seq } = firing;
  if (!isCounted) return sql`UPDATE notification SET times_sent = times_sent WHERE ${isAsDecided(firing)}`;
  // What is decided already never comes to the outbox, which tells the rule of the others.
  const sent = firing.messages.some(({ state }) => state === 'sent') ? sql`, last_success = ${atMs}` : sql``;
  const reason = firing.messages.find(({ state }) => state === 'failed' || state === 'undelivered')?.reason;
  const failed =
    reason === undefined
      ? sql``
      : sql`, last_failure = ${atMs}, last_failure_code = NULL, last_failure_reason = ${reason}`;
  return sql`UPDATE notification SET times_sent = times_sent + 1, last_notification = ${atMs},
    after_seq = max(after_seq, ${seq ?? 0}) ${sent} ${failed} WHERE ${isAsDecided(firing)}`;
}
