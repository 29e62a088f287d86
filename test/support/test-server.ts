// A whole server in process for tests: real SQLite in a new folder (or PostgreSQL, data.ts), free ports, a clock that only the test moves. Used
// by every whole-server test; the tests of a file share one server. Every answer is compared with the OpenAPI
// document.
import assert from 'node:assert/strict';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { request as requestTls, Agent as TlsAgent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import pino from 'pino';
import { TurnedClock } from '../../src/base/time/clock.ts';
import { parseConfig } from '../../src/config/config.ts';
import type { Env } from '../../src/config/env.ts';
import { databaseFile } from '../../src/engines/embedded/database/connection.ts';
import type { DashboardFiles } from '../../src/http/dashboard/dashboard-files.ts';
import { type RunningServer, readBuiltDashboard, type ServerOverrides, startServer } from '../../src/server.ts';
import { type ApiDocument, documentedAnswers } from './api/documented-answers.ts';
import { ageCounts, crashDatabaseOf, databaseOf, dataSettings, removeData } from './data.ts';
import { openDatabase } from './database.ts';
import { type As, layPeople, password } from './people.ts';
import { PostgresRowsReader } from './postgres-rows.ts';
import { type Rows, RowsReader } from './rows.ts';

/** What a request carries; at most one of `json`, `text` and `body`. */
export interface Carries {
  /** Sent as `application/json`. */
  readonly json?: unknown;
  /** Sent as `text/plain`. */
  readonly text?: string;
  /** Sent as it is; name its type in `headers`. */
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** The address of this machine to call from, such as 127.0.0.2. */
  readonly from?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** As they came, compressed where it was asked for. */
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON where it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects of the body.
  readonly body: any;
}

/** A line of the log; `suppressed` where it counts lines of its kind. */
export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly suppressed?: number;
}

/** When the clock of a test begins: noon of a day in 2026, UTC. */
const startMs = Date.UTC(2026, 0, 15, 12);

/** The files of the built dashboard, some hundred, which all servers of a process serve from the same memory. */
let dashboard: Promise<DashboardFiles | undefined> | undefined;

function readDashboardOnce(): Promise<DashboardFiles | undefined> {
  dashboard ??= readBuiltDashboard();
  return dashboard;
}

export class TestServer {
  readonly clock = new TurnedClock(startMs);
  readonly folder: string;
  /** What the server logged: errors alone, or from the level of DUNDUN_LOG_LEVEL on. */
  readonly logged: LogLine[] = [];
  /** What the server logged as an error since it was last looked at; there must be none at the end. */
  readonly errors: string[] = [];
  readonly #settings: Env;
  readonly #overrides: ServerOverrides;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #tlsAgent = new TlsAgent({ keepAlive: true, maxSockets: 32, rejectUnauthorized: false });
  /** Whether a certificate is set, so that it speaks HTTPS. */
  #isTls = false;
  readonly #tokens = new Map<As, { readonly token: string; readonly goodUntilMs: number }>();
  readonly #rows: RowsReader;
  readonly #postgresRows = new PostgresRowsReader();
  #running: RunningServer | undefined;
  /** The clock of the test and that of the machine when the server began. */
  #begun = { elapsedMs: 0, realMs: 0 };

  private constructor(folder: string, settings: Env, overrides: ServerOverrides) {
    this.folder = folder;
    this.#rows = new RowsReader(folder);
    this.#settings = settings;
    this.#overrides = overrides;
  }

  /** Starts a server; `settings` are environment variables such as DUNDUN_GUEST_ACCESS. */
  static async start(settings: Env = {}, overrides: ServerOverrides = {}): Promise<TestServer> {
    const folder = await mkdtemp(join(tmpdir(), 'dundun-test-'));
    const server = new TestServer(folder, settings, overrides);
    try {
      await layPeople(folder, server.clock);
      await server.#start();
    } catch (error) {
      await removeData(folder);
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return server;
  }

  /** The server itself: ports, `idle()`, `store.writer.seal()`. */
  get running(): RunningServer {
    assert.ok(this.#running !== undefined, 'the server runs');
    return this.#running;
  }

  get url(): string {
    return `http://127.0.0.1:${this.running.ports.http}`;
  }

  /**
   * Stops the server and starts one on the same folder; other settings may be given.
   * @param options what happens between: where its clock is turned before, a look that it takes from time to time may see that.
   */
  async restart(settings: Env = {}, { whileStopped = () => {} }: { whileStopped?: () => void } = {}): Promise<void> {
    this.#closeRows();
    await this.running.close();
    whileStopped();
    await this.#start(settings);
  }

  /** Goes on with what is on disk at this moment, as if the machine had lost its power, whatever the server does later. */
  async crash(): Promise<void> {
    this.#closeRows();
    if (databaseOf(this.folder) !== undefined) {
      const before = this.errors.length;
      await crashDatabaseOf(this.folder);
      await this.running.close();
      // It may say that its database is away, which a machine without power could not.
      this.errors.length = before;
      return this.#start();
    }
    const file = join(this.folder, databaseFile);
    const now = openDatabase(this.folder);
    now.prepare('VACUUM INTO ?').run(`${file}.now`);
    now.close();
    await this.running.close();
    for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true });
    await rename(`${file}.now`, file);
    await this.#start();
  }

  /** Stops the server and removes its folder. Fails when the server logged an error that no test asked about. */
  async stop(): Promise<void> {
    this.#agent.destroy();
    this.#tlsAgent.destroy();
    this.#closeRows();
    await this.#running?.close();
    await removeData(this.folder);
    await rm(this.folder, { recursive: true, force: true });
    assert.deepEqual(this.errors, []);
  }

  /** Calls a path below `/api/v2`. */
  call(as: As, method: string, path: string, carries: Carries = {}): Promise<Answer> {
    return this.request(as, method, `/api/v2${path}`, carries);
  }

  /** Calls a path as it stands. */
  async request(as: As, method: string, path: string, carries: Carries = {}): Promise<Answer> {
    const authorization = as === 'guest' ? {} : { authorization: `Bearer ${await this.token(as)}` };
    return this.send(method, path, { ...carries, headers: { ...authorization, ...carries.headers } });
  }

  /** Calls with exactly the headers given. Fails where the answer is not as the OpenAPI document says. */
  async send(method: string, path: string, carries: Carries = {}): Promise<Answer> {
    const answer = await this.#send(method, path, carries);
    const documented = await documentedAnswers(() => this.#document());
    const what = `${method} ${path.slice(0, 200)}: ${answer.status} ${answer.text.slice(0, 400)}`;
    assert.deepEqual(documented.faultsOf({ method, path, ...answer }), [], `${what} is not as documented`);
    return answer;
  }

  async #document(): Promise<ApiDocument> {
    return (await this.#send('GET', '/openapi.json', {})).body;
  }

  async #send(method: string, path: string, carries: Carries): Promise<Answer> {
    const { body, type } = bodyOf(carries);
    const headers = { ...(type === undefined ? {} : { 'content-type': type }), ...carries.headers };
    const { port, hostname } = new URL(this.url);
    const origin = carries.from === undefined ? {} : { localAddress: carries.from };
    const [ask, agent] = this.#isTls ? [requestTls, this.#tlsAgent] : [request, this.#agent];
    return new Promise((resolve, reject) => {
      const sent = ask({ agent, hostname, port, method, path, headers, ...origin }, (response) => {
        buffer(response).then((bytes) => {
          const json = /json/.test(response.headers['content-type'] ?? '') && bytes.length > 0;
          const text = unpacked(bytes, response.headers['content-encoding']).toString('utf8');
          const parsed = json && !/ndjson/.test(response.headers['content-type'] ?? '') ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, body: parsed });
        }, reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Sets the wall clock ahead, or back where `ms` is negative, without that time passes. */
  jump(ms: number): void {
    this.clock.jump(ms);
    // They may be good no longer.
    this.#tokens.clear();
  }

  /** A token of the user that is good now, got at the public door. */
  async token(username: string): Promise<string> {
    const known = this.#tokens.get(username);
    if (known !== undefined && known.goodUntilMs > this.clock.now()) return known.token;
    const answer = await this.send('POST', '/api/v2/auth/token', { json: { username, password } });
    assert.equal(answer.status, 200, answer.text);
    this.#tokens.set(username, { token: answer.text, goodUntilMs: this.clock.now() + 590_000 });
    return answer.text;
  }

  /** Everything on disk, once all that was accepted has been stored. */
  async rows(): Promise<Rows> {
    await this.running.idle();
    const url = databaseOf(this.folder);
    return url === undefined ? this.#rows.read() : this.#postgresRows.read(url, this.running.engine);
  }

  #closeRows(): void {
    this.#rows.close();
    this.#postgresRows.close();
  }

  async #start(settings: Env = {}): Promise<void> {
    const env = {
      DUNDUN_HTTP_HOST: '127.0.0.1',
      DUNDUN_HTTP_PORT: '0',
      DUNDUN_MQTT_PORT: '0',
      // Tables of calls that are refused would be slowed down.
      DUNDUN_REFUSED_IN_ROW: 'off',
      DUNDUN_DATA_DIR: this.folder,
      ...dataSettings(this.folder),
      ...this.#settings,
      ...settings,
    };
    const realMs = performance.now();
    await ageCounts(this.folder, this.clock.elapsedMs() - this.#begun.elapsedMs - (realMs - this.#begun.realMs));
    this.#begun = { elapsedMs: this.clock.elapsedMs(), realMs };
    this.#isTls = (env as Env)['DUNDUN_TLS_CERT'] !== undefined;
    const level = this.#settings['DUNDUN_LOG_LEVEL'] ?? 'error';
    const log = pino({ level, base: null }, { write: (line: string) => this.#note(line) });
    this.#running = await startServer(parseConfig(env), {
      readDashboard: readDashboardOnce,
      ...this.#overrides,
      clock: this.clock,
      log,
    });
    // Now, because a test may have the server stop or overloaded when its first answer comes.
    await documentedAnswers(() => this.#document());
  }

  #note(line: string): void {
    const logged = JSON.parse(line) as LogLine;
    if (this.logged.length < 10_000) this.logged.push(logged);
    if (logged.level >= 50 && this.errors.length < 100) this.errors.push(line);
    // The process ends with the writer of the store; say why before it does.
    if (logged.level === 60) process.stderr.write(line);
  }
}

function bodyOf(carries: Carries): { readonly body?: string | Uint8Array; readonly type?: string } {
  if ('json' in carries) return { body: JSON.stringify(carries.json), type: 'application/json' };
  if (carries.text !== undefined) return { body: carries.text, type: 'text/plain' };
  return carries.body === undefined ? {} : { body: carries.body };
}

/** Tests serve files of their own that only claim to be compressed. */
function unpacked(bytes: Buffer, encoding: string | undefined): Buffer {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  try {
    return encoding === 'br' ? brotliDecompressSync(bytes) : isGzip ? gunzipSync(bytes) : bytes;
  } catch {
    return bytes;
  }
}
