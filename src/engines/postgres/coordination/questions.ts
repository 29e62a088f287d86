// What servers ask one another: a row of `question` for each server that is asked, into which that writes its answer. NOTIFY is a hint at
// either. Whoever asked waits for a bounded time, and takes its rows away then: what was not answered by then is not answered any more. A
// server that was declared dead meanwhile is not waited for.
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../../../base/log.ts';
import { Refusal, type RefusalCode } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type {
  Answers,
  GivenAnswer,
  QuestionHandlers,
  QuestionKind,
  QuestionKinds,
  Questions,
} from '../../../domain/ports/questions.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';

interface QuestionsParts {
  readonly database: Pick<PostgresDatabase, 'query'>;
  readonly membership: { readonly id: string; readonly number: number; readonly isAlone: boolean };
  readonly log?: Log | undefined;
}

interface AskedServer {
  readonly server: string;
  readonly place: number;
  /** Whether its release knows of questions. */
  readonly isAsked: 0 | 1;
}

interface QuestionRow {
  readonly asker: string;
  readonly number: number;
  readonly body: string;
}

/** What is written as an answer. `isUnknown`: the server does not know the kind, or could not answer. */
type Written =
  | { readonly answer: unknown }
  | { readonly refusal: { readonly code: RefusalCode; readonly message: string } }
  | { readonly isUnknown: true };

type AnyHandler = (asked: unknown) => Promise<unknown>;

/** Hints at new questions, and at answers with the asker as payload. */
export const questionChannel = 'dundun_question';
export const answerChannel = 'dundun_answer';

export class PostgresQuestions implements Questions {
  readonly #database: Pick<PostgresDatabase, 'query'>;
  readonly #membership: QuestionsParts['membership'];
  readonly #log: Log | undefined;
  #handlers: QuestionHandlers | undefined;
  #number = 0;
  /** Questions under way; more wait for their turn: those on clients have taken turns before, and one on gateways is asked beside them. */
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];
  /** Servers that did not answer in time, and since when, by the monotonic clock: for a while they are waited for less. */
  readonly #late = new Map<string, number>();
  /** Called with each hint at an answer, by the question that waits for it. */
  readonly #wakes = new Set<() => void>();
  /** Questions that are being answered, so that none is answered twice. */
  readonly #answering = new Set<string>();
  #places = 0;
  #looking: Promise<void> | undefined;
  #isWanted = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor({ database, membership, log }: QuestionsParts) {
    this.#database = database;
    this.#membership = membership;
    this.#log = log;
  }

  get place(): number {
    return this.#membership.number;
  }

  get isAlone(): boolean {
    return this.#membership.isAlone;
  }

  async ask<K extends QuestionKind>(
    kind: K,
    asked: QuestionKinds[K]['asked'],
    { server }: { readonly server?: string } = {},
  ): Promise<Answers<K>> {
    if (this.isAlone) return { given: [], silent: [] };
    if (this.#underWay > limits.questionsAtOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#underWay += 1;
    try {
      return await this.#ask(JSON.stringify({ kind, asked }), server);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#underWay -= 1;
      else next();
    }
  }

  answer(handlers: QuestionHandlers): void {
    this.#handlers = handlers;
    this.look();
  }

  /** A hint has come from a channel of these. */
  hear(channel: string, payload: string): void {
    if (channel === questionChannel) {
      if (payload !== this.#membership.id) this.look();
    } else if (payload === this.#membership.id) for (const wake of this.#wakes) wake();
  }

  /** Looks for questions to this process. */
  look(): void {
    if (this.#handlers === undefined || this.#isClosed) return;
    this.#isWanted = true;
    this.#looking ??= this.#lookAll().finally(() => {
      this.#looking = undefined;
      if (this.#isWanted) this.look();
      else this.#lookLater();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.race([this.#looking, delay(limits.postgresEndMs, undefined, { ref: false })]);
  }

  // --- Asking ---------------------------------------------------------------------------------------------------

  async #ask<K extends QuestionKind>(body: string, server: string | undefined): Promise<Answers<K>> {
    const beganMs = performance.now();
    const { id } = this.#membership;
    this.#number += 1;
    const number = this.#number;
    const servers = await this.#database.query<AskedServer>(askSql, [id, number, body, server ?? null]);
    const open = new Map(servers.filter(({ isAsked }) => isAsked === 1).map((one) => [one.server, one.place]));
    const silent = servers.filter(({ isAsked }) => isAsked === 0).map((one) => one.server);
    const given: GivenAnswer<K>[] = [];
    try {
      while (open.size > 0) {
        const endMs = beganMs + this.#patienceMs(open.keys());
        const woken = this.#pause(endMs);
        const found = await this.#database.query<FoundAnswer>(answersSql, [id, number, [...open.keys()]]);
        const living = new Set(found.map((one) => one.server));
        // It has ended, or was declared dead: it has nothing any more.
        for (const gone of open.keys()) if (!living.has(gone)) open.delete(gone);
        for (const { server: from, answer } of found) {
          if (answer === null) continue;
          const written = JSON.parse(answer) as Written;
          if ('refusal' in written) throw new Refusal(written.refusal.code, written.refusal.message);
          if ('isUnknown' in written) silent.push(from);
          else
            given.push({
              server: from,
              place: open.get(from) ?? 0,
              answer: written.answer as GivenAnswer<K>['answer'],
            });
          open.delete(from);
          this.#late.delete(from);
        }
        if (open.size === 0 || performance.now() > endMs) break;
        await woken;
      }
    } finally {
      // Whoever has not answered yet finds nothing to answer.
      if (servers.length > 0) void this.#database.query(removeSql, [id, number]).catch(() => {});
    }
    for (const late of open.keys()) if (!this.#isLate(late)) this.#late.set(late, performance.now());
    silent.push(...open.keys());
    return { given: given.sort((one, other) => one.place - other.place), silent };
  }

  #patienceMs(servers: Iterable<string>): number {
    return [...servers].every((server) => this.#isLate(server)) ? limits.answerLateMs : limits.answerMsMax;
  }

  /** Not for ever: it may be slow alone. */
  #isLate(server: string): boolean {
    const sinceMs = this.#late.get(server);
    if (sinceMs === undefined) return false;
    if (performance.now() < sinceMs + limits.nodeDeadMs) return true;
    this.#late.delete(server);
    return false;
  }

  /** Until the next hint, or the next look without one. Begun before a look, so that no hint is lost while that is made. */
  async #pause(endMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakes.add(resolve);
    const waitMs = Math.max(1, Math.min(limits.answerPollMs, endMs - performance.now()));
    const timer = setTimeout(resolve, waitMs);
    await promise;
    clearTimeout(timer);
    this.#wakes.delete(resolve);
  }

  // --- Answering ------------------------------------------------------------------------------------------------

  #lookLater(): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => this.look(), limits.questionPollMs).unref();
  }

  async #lookAll(): Promise<void> {
    this.#isWanted = false;
    // Whoever asks has been seen before (Membership.join).
    if (this.isAlone) return;
    const room = limits.answersAtOnce - this.#places;
    if (room <= 0) return;
    try {
      const parameters = [this.#membership.id, room, [...this.#answering]];
      for (const row of await this.#database.query<QuestionRow>(questionsSql, parameters)) void this.#take(row);
    } catch (error) {
      this.#log?.debug({ err: error }, 'questions of other servers could not be read');
    }
  }

  /** A place is taken for as long as anybody waits for the answer: one that takes longer keeps others from no answer. */
  async #take(row: QuestionRow): Promise<void> {
    const key = `${row.number} ${row.asker}`;
    this.#answering.add(key);
    this.#places += 1;
    const answered = this.#answer(row).finally(() => this.#answering.delete(key));
    await Promise.race([answered, delay(limits.answerMsMax, undefined, { ref: false })]);
    const wasFull = this.#places >= limits.answersAtOnce;
    this.#places -= 1;
    // There may be more than were read at once.
    if (wasFull) this.look();
  }

  async #answer({ asker, number, body }: QuestionRow): Promise<void> {
    try {
      const answer = JSON.stringify(await this.#answerTo(body));
      await this.#database.query(answerSql, [this.#membership.id, asker, number, answer]);
    } catch (error) {
      this.#log?.debug({ err: error }, 'a question of another server could not be answered');
    }
  }

  async #answerTo(body: string): Promise<Written> {
    const { kind, asked } = JSON.parse(body) as { readonly kind: QuestionKind; readonly asked: unknown };
    const handler = this.#handlers?.[kind] as AnyHandler | undefined;
    // Of a later release.
    if (handler === undefined) return { isUnknown: true };
    try {
      return { answer: await handler(asked) };
    } catch (error) {
      if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } };
      this.#log?.warn({ err: error, question: kind }, 'a question of another server could not be answered');
      return { isUnknown: true };
    }
  }
}

interface FoundAnswer {
  readonly server: string;
  readonly answer: string | null;
}

/**
 * Servers of the release before have no eyes for it. The hint is sent in the same commit, which waits for no disk, so the lock that NOTIFY
 * takes until then is short.
 */
const askSql = `WITH servers AS (
    SELECT id, number AS place, coalesce(knows >= '0014-questions', false) AS asked FROM node
      WHERE id <> $1 AND ($4::text IS NULL OR id = $4)),
  added AS (
    INSERT INTO question (asked, asker, number, body) SELECT id, $1, CAST($2 AS bigint), $3 FROM servers WHERE asked RETURNING asked)
  SELECT id AS server, place, asked AS "isAsked",
    CASE WHEN asked THEN pg_notify('${questionChannel}', $1) END AS hint FROM servers ORDER BY place`;
const answersSql = `SELECT node.id AS server, answer FROM node
  LEFT JOIN question ON asked = node.id AND asker = $1 AND question.number = $2 WHERE node.id = ANY(CAST($3 AS text[]))`;
const removeSql = 'DELETE FROM question WHERE asker = $1 AND number = $2';
/** Who was declared dead answers nothing. */
const questionsSql = `SELECT asker, number, body FROM question
  WHERE asked = $1 AND answer IS NULL AND EXISTS (SELECT 1 FROM node WHERE id = $1)
    AND number || ' ' || asker <> ALL (CAST($3 AS text[])) ORDER BY number, asker LIMIT $2`;
const answerSql = `WITH answered AS (
    UPDATE question SET answer = $4 WHERE asked = $1 AND asker = $2 AND number = $3 RETURNING asker)
  SELECT pg_notify('${answerChannel}', asker) AS hint FROM answered`;
