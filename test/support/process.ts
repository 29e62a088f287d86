// Starts the real service as a process of its own, in its own folder, on free ports: for what only a process shows
// (signals, exit codes, kills, settings). Processes and folders that a test leaves are removed at the end of its file.
import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { limits } from '../../src/config/limits.ts';
import { type ApiDocument, documentedAnswers } from './api/documented-answers.ts';
import { until } from './until.ts';

export const root = resolve(import.meta.dirname, '../..');
export const adminPassword = 'correct horse battery';

export interface Ports {
  readonly http: number;
  readonly mqtt?: number;
  readonly mqtts?: number;
  readonly metrics?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Environment variables; undefined takes away what would be set otherwise. */
export type Settings = Readonly<Record<string, string | undefined>>;

const readyMsMax = 60_000;
const running = new Set<ChildProcessWithoutNullStreams>();
const folders = new Set<string>();

function tidyUp(): void {
  for (const child of running) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

after(tidyUp);
process.on('exit', tidyUp);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(1));

/** A new folder that goes when the test file ends. */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-test-'));
  folders.add(folder);
  return folder;
}

/** The environment of a child: nothing of ours, free ports of this machine alone, and what the test sets. */
function environment(settings: Settings): Settings {
  return {
    PATH: process.env['PATH'] ?? '',
    // What Node.js makes of the source is kept, as for the tests themselves: it is two thirds of a start.
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    DUNDUN_HTTP_HOST: '127.0.0.1',
    DUNDUN_HTTP_PORT: '0',
    DUNDUN_MQTT_PORT: '0',
    DUNDUN_MQTT_TLS_PORT: '0',
    DUNDUN_METRICS_PORT: '0',
    DUNDUN_ADMIN_PASSWORD: adminPassword,
    ...settings,
  };
}

/** A process of ours and all it has said so far. */
export class Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exit: Promise<Exit>;
  stdout = '';
  stderr = '';

  constructor(command: readonly string[], options: { readonly settings: Settings; readonly cwd?: string }) {
    const [program = '', ...args] = command;
    this.child = spawn(program, args, { cwd: options.cwd ?? makeFolder(), env: options.settings });
    running.add(this.child);
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exit = new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('close', (code, signal) => {
        running.delete(this.child);
        resolve({ code, signal });
      });
    });
    // Whoever waits for the end is told; a test that does not wait is not failed by it.
    this.exit.catch(() => {});
  }

  /** Sends a signal and waits for the end. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.child.kill(signal);
    return this.exit;
  }
}

export interface ServeOptions {
  readonly folder?: string;
  readonly settings?: Settings;
  /** What is started; the service on this Node.js unless a test wants another way in. */
  readonly command?: readonly string[];
}

const source = join(root, 'src/main.ts');
/** The source, or what the whole run has made of it (scripts/service-bundle.ts). */
const service = process.env['DUNDUN_TEST_SERVICE'] ?? source;

export const serveCommand: readonly string[] = [process.execPath, service, 'serve'];

/** The service, in whose threads these files of test/support are imported first. */
export function withImports(...names: readonly string[]): readonly string[] {
  const imports = names.flatMap((name) => ['--import', join(root, 'test/support', name)]);
  // The next release changes tables of the source, of which a bundle has a copy; the limits are apart from it.
  return [process.execPath, ...imports, names.includes('next-release.ts') ? source : service, 'serve'];
}

/** Starts the service with other limits than its own. */
export function withLimits(
  bounds: Partial<Record<keyof typeof limits, number>>,
  settings: Settings = {},
): ServeOptions {
  return {
    // Rounds that delete by age come within the test; and under another ceiling of the memory the service would set its bounds anew.
    settings: {
      ...{ DUNDUN_CLOCK_STEADY_MINUTES: '0', DUNDUN_MEMORY_MAX: '1GiB', ...settings },
      DUNDUN_TEST_LIMITS: JSON.stringify(bounds),
    },
    command: withImports('tight-limits.ts'),
  };
}

/** `dundun serve`, started; `ready` tells when it takes work. */
export class Dundun extends Running {
  readonly folder: string;
  readonly ready: Promise<Ports>;
  ports: Ports = { http: 0 };

  constructor({ folder = join(makeFolder(), 'data'), settings = {}, command = serveCommand }: ServeOptions = {}) {
    super(command, { settings: environment({ DUNDUN_DATA_DIR: folder, ...settings }) });
    this.folder = folder;
    this.ready = this.#waitForReady();
    this.ready.catch(() => {});
  }

  get url(): string {
    return `http://127.0.0.1:${this.ports.http}`;
  }

  /** Bytes of memory that the system cannot take back: all but what is mapped from files, as the code of Node.js is. */
  takenBytes(): number {
    const ended = this.child.exitCode ?? this.child.signalCode;
    assert.equal(ended, null, `it ended by itself with ${ended}: ${this.stderr.slice(-2_000)}`);
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  #waitForReady(): Promise<Ports> {
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error(`Not ready in time.\n${this.stderr}`)), readyMsMax);
      const look = () => {
        const line = this.stdout.split('\n').find((text) => text.startsWith('{"msg":"ready"'));
        if (line === undefined || !line.endsWith('}')) return;
        this.ports = JSON.parse(line) as Ports;
        clearTimeout(deadline);
        resolve(this.ports);
      };
      this.child.stdout.on('data', look);
      this.exit.then(({ code, signal }) => {
        clearTimeout(deadline);
        reject(new Error(`It ended with ${code ?? signal} before it was ready.\n${this.stderr}`));
      }, reject);
    });
  }
}

/** Starts the service and waits until it takes work. */
export async function startDundun(options: ServeOptions = {}): Promise<Dundun> {
  const dundun = new Dundun(options);
  await dundun.ready;
  return dundun;
}

/** Starts the service where it must refuse to start; how it ended. */
export async function startRefused(options: ServeOptions = {}): Promise<VerbOutcome> {
  const dundun = new Dundun(options);
  dundun.ready.then(
    () => dundun.child.kill('SIGKILL'),
    () => {},
  );
  const { code } = await dundun.exit;
  return { code, stdout: dundun.stdout, stderr: dundun.stderr };
}

export interface VerbOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command-line verb to its end. */
export async function runVerb(
  args: readonly string[],
  options: { readonly settings?: Settings; readonly input?: string } = {},
): Promise<VerbOutcome> {
  const verb = startVerb(args, options);
  const { code } = await verb.exit;
  return { code, stdout: verb.stdout, stderr: verb.stderr };
}

/** Starts a command-line verb. */
export function startVerb(
  args: readonly string[],
  options: { readonly settings?: Settings; readonly input?: string } = {},
): Running {
  const verb = new Running([process.execPath, service, ...args], {
    settings: environment(options.settings ?? {}),
  });
  verb.child.stdin.on('error', () => {});
  verb.child.stdin.end(options.input ?? '');
  return verb;
}

export interface Call {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly method?: string;
}

/** One request of the API; a body makes it a POST. Fails where the answer is not as the OpenAPI document says. */
export async function call(dundun: { readonly url: string }, path: string, options: Call = {}): Promise<Response> {
  const answer = await send(dundun, path, options);
  const documented = await documentedAnswers(async () => {
    return (await (await fetch(`${dundun.url}/openapi.json`)).json()) as ApiDocument;
  });
  const { status } = answer;
  const text = await answer.clone().text();
  const method = methodOf(options);
  const faults = documented.faultsOf({ method, path, status, headers: Object.fromEntries(answer.headers), text });
  assert.deepEqual(faults, [], `${method} ${path}: ${status} ${text.slice(0, 400)} is not as documented`);
  return answer;
}

function methodOf({ json, method = json === undefined ? 'GET' : 'POST' }: Call): string {
  return method;
}

async function send(dundun: { readonly url: string }, path: string, options: Call): Promise<Response> {
  // A test that was busy for longer than connections are kept first hears which of them are closed.
  await setImmediate();
  const { token, json } = options;
  const method = methodOf(options);
  const headers: Record<string, string> = { ...options.headers };
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  if (json === undefined) return fetch(`${dundun.url}${path}`, { method, headers });
  headers['content-type'] = 'application/json';
  return fetch(`${dundun.url}${path}`, { method, headers, body: JSON.stringify(json) });
}

/** What the service tells Prometheus. */
export async function figuresOf({ ports }: { readonly ports: Ports }): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${ports.metrics}/metrics`);
  assert.equal(answer.status, 200);
  return answer.text();
}

/** A token for the login, or the status with which it was refused. */
export async function login(
  dundun: { readonly url: string },
  username = 'admin',
  password = adminPassword,
): Promise<string | number> {
  const answer = await call(dundun, '/api/v2/auth/token', { json: { username, password } });
  const text = await answer.text();
  return answer.ok ? text : answer.status;
}

/** Makes a public device with these sensors. */
export async function makeDevice(
  dundun: { readonly url: string },
  id: string,
  sensors: readonly string[],
): Promise<void> {
  const answer = await call(dundun, '/api/v2/devices', {
    json: { id, visibility: 'public', sensors: sensors.map((sensor) => ({ id: sensor })) },
  });
  if (!answer.ok) throw new Error(`Making ${id}: ${answer.status} ${await answer.text()}`);
}

/** Every value of a sensor that the parameters ask for, in order. */
export async function readValues(
  dundun: { readonly url: string },
  device: string,
  sensor: string,
  parameters = '',
): Promise<unknown[]> {
  const path = `/api/v2/devices/${device}/sensors/${sensor}/values?format=ndjson&${parameters}`;
  let answer = await call(dundun, path);
  // Asked again as clients do: one of several servers may not know for a moment what others have changed.
  await until(async () => {
    if (answer.status === 503) answer = await call(dundun, path);
    return answer.status !== 503;
  });
  if (!answer.ok) throw new Error(`Reading ${device}/${sensor}: ${answer.status} ${await answer.text()}`);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  return lines.map((line) => (JSON.parse(line) as { value: unknown }).value);
}
