// Announcements between the processes of a database: rows that each process reads in their order and applies, one after the other, and
// then says so in its row of `node`. NOTIFY is a hint that there are some; a look every second finds those of which the hint was
// lost. Who announces waits until every living process has said so.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { isTransient, Refusal, type RefusalCode } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Announcement, AnnouncementHandlers } from '../../../domain/ports/announcement.ts';
import { stoppingRefusal } from '../../shared/write-failure.ts';
import { formats, WrittenFormats } from '../database/formats.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';
import type { RegistryWriter } from '../registry/registry-writer.ts';
import { announcementOf, textOf } from './announcement-text.ts';

interface AnnouncementRow {
  readonly seq: number;
  readonly body: string;
  readonly format: number;
}

interface AnnouncementsParts {
  readonly database: PostgresDatabase;
  readonly writer: Pick<RegistryWriter, 'run'>;
  /** The row of this process in `node`; a command has none. */
  readonly node: string;
  /** In which form it announces; the oldest where it is not said. */
  readonly written?: WrittenFormats;
  /** Called where one is in a form that this process does not read: it stays before it. */
  readonly onUnreadable?: (error: Error) => void;
  /** Whether no other server can be on the database. */
  readonly isAlone?: () => boolean;
  /** Declares servers dead that give no sign of life: nobody waits for them. */
  readonly bury?: () => Promise<unknown>;
  /** Called when another server has hinted at new rows of the log. */
  readonly onLogHint?: () => void;
  readonly log?: Log | undefined;
}

type AnyHandler = (announcement: Announcement) => Promise<void>;

export class Announcements {
  readonly #parts: AnnouncementsParts;
  readonly #closing = new AbortController();
  #handlers: AnnouncementHandlers | undefined;
  #connection: OwnConnection | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: AnnouncementsParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when every other living process has applied it.
   * @throws Refusal of the process that refused it; `storage` where it is not known in time that all have applied it.
   */
  async announce(announcement: Announcement): Promise<void> {
    const { database, writer, node, isAlone, written = new WrittenFormats() } = this.#parts;
    if (isAlone?.() === true) return;
    const { rows } = await writer.run((connection) =>
      connection.query<{ seq: number }>(addSql, [node, textOf(announcement), written.of('announcement')]),
    );
    const seq = rows[0]?.seq;
    if (seq === undefined) return;
    try {
      await database.query(`SELECT pg_notify('${channel}', '')`).catch(() => {});
      await this.#untilFollowed(seq);
    } finally {
      // Whoever has not applied it yet still must.
      void database.query(removeSql, [seq]).catch(() => {});
    }
  }

  /** Begins to apply what others announce. */
  listen(handlers: AnnouncementHandlers): void {
    this.#handlers = handlers;
    void this.#listen();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    // What a handler waits for may never come about any more.
    await Promise.race([this.#running, delay(limits.postgresEndMs, undefined, { ref: false })]);
    await this.#connection?.close();
  }

  async #untilFollowed(seq: number): Promise<void> {
    const { database, node } = this.#parts;
    const endMs = performance.now() + limits.announcementMsMax;
    let buryMs = performance.now() + limits.nodeRenewMs;
    for (let waitMs = announcePollMsMin; ; waitMs = Math.min(2 * waitMs, limits.announcementPollMs)) {
      const [row] = await database.query<{ missing: number; refusal: string | null }>(followedSql, [seq, node]);
      if (row !== undefined && row.missing === 0) {
        if (row.refusal !== null) throw refusalOf(row.refusal);
        return;
      }
      if (this.#closing.signal.aborted) throw stoppingRefusal();
      if (performance.now() > endMs) throw notFollowed();
      if (performance.now() > buryMs) {
        buryMs = performance.now() + limits.nodeRenewMs;
        await this.#parts.bury?.().catch(() => {});
      }
      await delay(waitMs, undefined, { ref: false });
    }
  }

  /** Keeps a connection that hears the hints, until this process stops. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      let connection: OwnConnection | undefined;
      try {
        connection = await this.#parts.database.connectAgain('announcements');
        this.#connection = connection;
        if (signal.aborted) return await connection.close();
        connection.onNotification = (of) => (of === channel ? this.#follow() : this.#parts.onLogHint?.());
        await connection.query(`LISTEN ${channel}; LISTEN ${logChannel}`);
        // What came before it listened.
        this.#follow();
        await connection.lost;
      } catch {
        // Lost at once, or refused by a standby, where each attempt would leave one more connection; or the database is closed.
        await connection?.close().catch(() => {});
        await delay(limits.postgresRetryMsMin, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #follow(): void {
    this.#isWanted = true;
    if (this.#closing.signal.aborted) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#isWanted) this.#follow();
      else this.#lookLater();
    });
  }

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => this.#follow(), limits.announcementPollMs).unref();
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    const { database, node, log } = this.#parts;
    try {
      for (;;) {
        const rows = await database.query<AnnouncementRow>(nextSql, [node, limits.announcementsAtOnce]);
        if (rows.length === 0) return;
        await this.#applyAll(rows);
      }
    } catch (error) {
      log?.warn({ err: error }, 'announcements of other servers could not be applied; they are tried again');
    }
  }

  /** Says how far it came, whether all could be applied or not. */
  async #applyAll(rows: readonly AnnouncementRow[]): Promise<void> {
    const { database, node } = this.#parts;
    let applied: number | undefined;
    try {
      for (const row of rows) {
        await this.#apply(row);
        applied = row.seq;
      }
    } finally {
      if (applied !== undefined) await database.query(followSql, [node, applied]);
    }
  }

  /** A later release has written it. Without it what this process has in memory would not hold. */
  #unreadable(what: string): Error {
    const error = new Error(`Another server has announced a change ${what}, which this release does not know.`);
    this.#parts.onUnreadable?.(error);
    return error;
  }

  /** @throws whatever is no refusal: then it is not applied. */
  async #apply({ seq, body, format }: AnnouncementRow): Promise<void> {
    const { oldest, newest } = formats.announcement;
    if (format < oldest || format > newest) throw this.#unreadable(`of version ${format}`);
    const announcement = announcementOf(body);
    const handler = this.#handlers?.[announcement.kind] as AnyHandler | undefined;
    if (handler === undefined) throw this.#unreadable(`of the kind ${announcement.kind}`);
    try {
      await handler(announcement);
    } catch (error) {
      if (!(error instanceof Refusal) || isTransient(error)) throw error;
      const { code, message } = error;
      await this.#parts.database.query(refuseSql, [seq, JSON.stringify({ code, message })]);
    }
  }
}

const channel = 'dundun_announcement';
/** On it servers hint at new rows of the log. */
export const logChannel = 'dundun_log';
/** Milliseconds until the first look whether others have applied an announcement. */
const announcePollMsMin = 1;

/** Where there is somebody to hear it: who joins later reads what is stored already. */
const addSql = `INSERT INTO announcement (node, body, format) SELECT CAST($1 AS text), CAST($2 AS text), CAST($3 AS integer)
  WHERE EXISTS (SELECT 1 FROM node WHERE id <> $1) RETURNING seq`;
const followedSql = `SELECT (SELECT count(*) FROM node WHERE id <> $2 AND followed < $1) AS missing,
  (SELECT refusal FROM announcement WHERE seq = $1) AS refusal`;
/** Who has not applied it still will. */
const removeSql = `DELETE FROM announcement WHERE seq = $1
  AND NOT EXISTS (SELECT 1 FROM node WHERE id <> announcement.node AND followed < $1)`;
const nextSql = `SELECT seq, body, format FROM announcement WHERE node <> $1
  AND seq > (SELECT followed FROM node WHERE id = $1) ORDER BY seq LIMIT $2`;
const followSql = 'UPDATE node SET followed = $2 WHERE id = $1';
const refuseSql = 'UPDATE announcement SET refusal = $2 WHERE seq = $1';

function refusalOf(text: string): Error {
  const { code, message } = JSON.parse(text) as { readonly code: RefusalCode; readonly message: string };
  return new Refusal(code, message);
}

function notFollowed(): Error {
  return new Refusal(
    'storage',
    'The change is stored, but another server has not said in time that it knows of it. Look before you send the request again.',
    { retryAfterS: limits.storageRetryAfterS },
  );
}
