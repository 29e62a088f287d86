// Announcements between the processes of a database: rows that each process reads in their order and applies, one after the other, and
// then says so in its row of `node`. NOTIFY is a hint that there are some; a look every second finds those of which the hint was
// lost. Who announces waits until every living process has said so. One that died may have changed what it did not announce: then
// each process reads anew what it has in memory, beside the announcements of the others (missed-changes.ts).
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { isTransient, Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { Announcement, AnnouncementHandlers } from '../../../domain/ports/announcement.ts';
import { formats, type WrittenFormats } from '../database/formats.ts';
import type { OwnConnection, PostgresDatabase } from '../database/postgres-database.ts';
import type { RegistryWriter } from '../registry/registry-writer.ts';
import { announcementOf } from './announcement-text.ts';
import { Announcing, channel } from './announcing.ts';
import { MissedChanges } from './missed-changes.ts';
import { answerChannel, questionChannel } from './questions.ts';

interface AnnouncementRow {
  readonly seq: number;
  readonly node: string;
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
  /** Called with hints of questions and answers (questions.ts). */
  readonly onQuestionHint?: (channel: string, payload: string) => void;
  readonly log?: Log | undefined;
}

/** Each has a record read anew as it is by then: so one time does for all of it, and the order of several records is of no matter. */
const rereading: ReadonlySet<string> = new Set([
  'device-changed',
  'user-changed',
  'keys-changed',
  'refresh-sessions-changed',
]);

type AnyHandler = (announcement: Announcement, server: string) => Promise<void>;

export class Announcements {
  readonly #parts: AnnouncementsParts;
  readonly #closing = new AbortController();
  readonly #announcing: Announcing;
  readonly #missed: MissedChanges;
  #handlers: AnnouncementHandlers | undefined;
  #connection: OwnConnection | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: AnnouncementsParts) {
    this.#parts = parts;
    this.#announcing = new Announcing(parts, this.#closing.signal);
    this.#missed = new MissedChanges({
      ...{ database: parts.database, log: parts.log, signal: this.#closing.signal },
      readAnew: async (servers) =>
        this.#handlers?.['anything-changed']({ kind: 'anything-changed', servers }, parts.node),
    });
  }

  /**
   * Resolves when every other living process has applied it.
   * @throws Refusal of the process that refused it; `storage` where it is not known in time that all have applied it.
   */
  async announce(announcement: Announcement): Promise<void> {
    if (this.#parts.isAlone?.() !== true) await this.#announcing.announce(announcement);
  }

  /** Another process may have changed what it did not announce: this one reads anew what it has in memory. */
  missed(): void {
    this.#missed.note();
    // What was announced goes before that. Before it listens, it is done then.
    if (this.#handlers !== undefined) this.#follow();
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

  /** Keeps a connection that hears the hints, until this process stops. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      let connection: OwnConnection | undefined;
      try {
        connection = await this.#parts.database.connectAgain('announcements');
        this.#connection = connection;
        if (signal.aborted) return await connection.close();
        connection.onNotification = (of, payload) => this.#hear(of, payload);
        await connection.query(
          [channel, logChannel, questionChannel, answerChannel].map((of) => `LISTEN ${of}`).join('; '),
        );
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

  #hear(of: string, payload: string): void {
    if (of === channel) this.#follow();
    else if (of === logChannel) this.#parts.onLogHint?.();
    else this.#parts.onQuestionHint?.(of, payload);
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
        const { noted } = this.#missed;
        const rows = await database.query<AnnouncementRow>(nextSql, [node, limits.announcementsAtOnce]);
        if (rows.length === 0) return this.#missed.catchUp(noted);
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
      for (const run of runsOf(rows)) {
        const applying = new Map([...run.firsts].map(([key, row]) => [key, this.#apply(row)]));
        // Each waits for a commit: those of a run are joined in one. All end before any is tried again.
        await Promise.allSettled(applying.values());
        for (const { key, seq } of run.all) {
          await applying.get(key);
          applied = seq;
        }
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
  async #apply(row: AnnouncementRow): Promise<void> {
    if (!isReadable(row)) throw this.#unreadable(`of version ${row.format}`);
    const announcement = announcementOf(row.body);
    const handler = this.#handlers?.[announcement.kind] as AnyHandler | undefined;
    if (handler === undefined) throw this.#unreadable(`of the kind ${announcement.kind}`);
    // It would keep those waiting that announce something else.
    if (announcement.kind === 'anything-changed') return this.missed();
    try {
      await handler(announcement, row.node);
    } catch (error) {
      if (!(error instanceof Refusal) || isTransient(error)) throw error;
      const { code, message } = error;
      await this.#parts.database.query(refuseSql, [row.seq, JSON.stringify({ code, message })]);
    }
  }
}

/** On it servers hint at new rows of the log. */
export const logChannel = 'dundun_log';
const nextSql = `SELECT seq, node, body, format FROM announcement WHERE node <> $1
  AND seq > (SELECT followed FROM node WHERE id = $1) ORDER BY seq LIMIT $2`;
const followSql = 'UPDATE node SET followed = $2 WHERE id = $1';
const refuseSql = 'UPDATE announcement SET refusal = $2 WHERE seq = $1';

/** Rows that follow one another and are applied at once, some of them again where one fails. */
interface ApplicationRun {
  /** The first row of each key: it stands for all of that key. */
  readonly firsts: Map<string, AnnouncementRow>;
  readonly all: { readonly key: string; readonly seq: number }[];
}

function runsOf(rows: readonly AnnouncementRow[]): readonly ApplicationRun[] {
  const runs: ApplicationRun[] = [];
  let openKind: 'rereading' | 'client' | undefined;
  for (const row of rows) {
    const { kind, key } = runKeyOf(row);
    const last = runs.at(-1);
    const mayJoin = kind !== undefined && kind === openKind && !(kind === 'client' && last?.firsts.has(key));
    const run: ApplicationRun = mayJoin && last !== undefined ? last : { firsts: new Map(), all: [] };
    if (run !== last) runs.push(run);
    if (!run.firsts.has(key)) run.firsts.set(key, row);
    run.all.push({ key, seq: row.seq });
    openKind = kind;
  }
  return runs;
}

/** Client ids are let go beside each other, one time each; any other row, or one that is not read here, is a run of its own. */
function runKeyOf(row: AnnouncementRow): { readonly kind?: 'rereading' | 'client'; readonly key: string } {
  const announcement = isReadable(row) ? announcementOf(row.body) : undefined;
  if (announcement?.kind === 'client-id-taken') return { kind: 'client', key: announcement.clientId };
  if (announcement !== undefined && rereading.has(announcement.kind)) return { kind: 'rereading', key: row.body };
  return { key: '' };
}

function isReadable({ format }: AnnouncementRow): boolean {
  const { oldest, newest } = formats.announcement;
  return format >= oldest && format <= newest;
}
