// Runs attacks against a service of their own and measures what other users noticed (attack.ts says what is asserted).
// The service is the one that users start: bin/dundun.js with its default limits and settings, in a copy of a folder
// that already has the test's users.
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  adminPassword,
  call,
  type Dundun,
  login,
  makeFolder,
  Running,
  root,
  startDundun,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { type Attack, type AttackTarget, attackMs, pace } from './attack.ts';
import { ask, ca } from './attacker.ts';
import { type ProbeReport, Prober } from './prober.ts';

const password = 'drums talk at dusk';
const people = Array.from({ length: 30 }, (_, n) => `awa${n}`);
const attackerName = 'mallory';
/** Descriptors beside those of connections that come and go by themselves: files of the database, of the log. */
export const descriptorsSpare = 12;
const memoryEveryMs = 25;
const smallHeapMib = 160;
/** Milliseconds of asking before an attack begins, in which the service compiles what it runs. */
const warmUpMs = 1_000;

export interface AttackReport {
  readonly probes: ProbeReport;
  readonly memoryBytesMax: number;
  readonly stopMs: number;
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  /** How the process ended where it did not live; else undefined. */
  readonly died: string | undefined;
  /** What the service has logged since the attack began. */
  readonly log: string;
  readonly folder: string;
  /** Milliseconds until it was ready again, where an attack asks for that. */
  readonly startMs: number | undefined;
}

/** A folder with the people of a test, and the key of the one who is watched. */
interface Prepared {
  readonly folder: string;
  readonly key: string;
}

/** Runs these attacks together. */
export async function runAttacks(attacks: readonly Attack[]): Promise<AttackReport> {
  const { key, ...prepared } = await prepare();
  const folder = join(makeFolder(), 'data');
  cpSync(prepared.folder, folder, { recursive: true });
  const settings = Object.assign({}, ...attacks.map((attack) => attack.settings ?? {}));
  const startedBy = attacks.flatMap((attack) => attack.startedBy ?? []);
  const dundun = await startDundun({ folder, settings, command: [...startedBy, ...serve] });
  const control = await startControl();
  try {
    return await attackService(dundun, { attacks, key, controlPort: control.port });
  } finally {
    await Promise.all([dundun.stop(), control.stop()]);
  }
}

/** One siege of a service that runs. It is stopped in the end, however the siege ends. */
async function attackService(
  dundun: Dundun,
  siege: { readonly attacks: readonly Attack[]; readonly key: string; readonly controlPort: number },
): Promise<AttackReport> {
  const { attacks, key, controlPort: control } = siege;
  let endMs = Number.POSITIVE_INFINITY;
  const isOver = () => performance.now() >= endMs || dundun.child.exitCode !== null;
  const isTls = attacks.some(({ settings = {} }) => 'DUNDUN_TLS_CERT' in settings);
  const target = await targetOf(dundun, { isTls, isOver });
  for (const attack of attacks) await attack.prepare?.(target);
  const { http, mqtt } = target;
  const prober = await Prober.start({
    ...{ http, mqtt, control, key, device: 'field', people, password },
    ...(isTls ? { ca } : {}),
  });
  const descriptorsBefore = descriptorsOf(dundun);
  const memory = watchMemory(dundun);
  await pace(warmUpMs);
  const logBefore = dundun.stderr.length;
  prober.measure();
  endMs = performance.now() + attackMs;
  // A service that died answers no attack any more.
  const failures = await Promise.race([
    Promise.allSettled(attacks.map(async (attack) => attack.run(target))),
    dundun.exit.then(() => []),
  ]);
  const died = dundun.child.exitCode ?? dundun.child.signalCode;
  const probes = await prober.stop();
  const memoryBytesMax = memory.stop();
  for (const failure of failures) if (failure.status === 'rejected') throw failure.reason;
  const descriptorsAfter = died === null ? await whenBack(dundun, descriptorsBefore) : 0;
  const stopBeganMs = performance.now();
  await dundun.stop();
  const stopMs = performance.now() - stopBeganMs;
  return {
    ...{ probes, memoryBytesMax, stopMs, descriptorsBefore, descriptorsAfter, folder: dundun.folder },
    died: died === null ? undefined : String(died),
    log: dundun.stderr.slice(logBefore),
    startMs: attacks.some(({ startsAgain }) => startsAgain) ? await startAgain(dundun.folder) : undefined,
  };
}

const serve = [process.execPath, join(root, 'bin/dundun.js'), 'serve'];
let prepared: Promise<Prepared> | undefined;

/** Made once: thirty password hashes take longer than most attacks. */
function prepare(): Promise<Prepared> {
  prepared ??= makePeople();
  return prepared;
}

async function makePeople(): Promise<Prepared> {
  const dundun = await startDundun();
  const adminToken = await tokenOf(dundun, 'admin');
  for (const username of [...people, attackerName]) {
    const answer = await call(dundun, '/api/v2/users', { token: adminToken, json: { username, password } });
    if (!answer.ok) throw new Error(`${username} cannot be made: ${answer.status}`);
  }
  const token = await tokenOf(dundun, 'awa0');
  await call(dundun, '/api/v2/devices', { token, json: { id: 'field', sensors: [{ id: 's' }, { id: 'heard' }] } });
  const made = await call(dundun, '/api/v2/auth/keys', { token, json: { name: 'fleet' } });
  const { key } = (await made.json()) as { key: string };
  await dundun.stop();
  return { folder: dundun.folder, key };
}

/** Starts the service in the folder with a heap that has room for little more than itself; how long that took. */
async function startAgain(folder: string): Promise<number> {
  const beganMs = performance.now();
  const dundun = await startDundun({ folder, command: serve, settings: { NODE_OPTIONS: `--max-old-space-size=${smallHeapMib}` } }); // biome-ignore format: one line
  const startMs = performance.now() - beganMs;
  await dundun.stop();
  return startMs;
}

async function tokenOf(dundun: Dundun, username: string): Promise<string> {
  const token = await login(dundun, username, username === 'admin' ? undefined : password);
  if (typeof token === 'number') throw new Error(`${username} cannot sign in: ${token}`);
  return token;
}

async function targetOf(dundun: Dundun, { isTls, isOver }: Pick<AttackTarget, 'isTls' | 'isOver'>) {
  const { http, mqtt = 0, mqtts = 0, metrics = 0 } = dundun.ports;
  const url = `http${isTls ? 's' : ''}://127.0.0.1:${http}`;
  const known = { ...{ url, http, mqtt, mqtts, metrics, isTls, isOver }, username: attackerName, password };
  const target: AttackTarget = { ...known, userToken: '', adminToken: '' };
  const signIn = async (username: string, secret: string) => {
    const { status, text } = await ask(target, {
      ...{ path: '/api/v2/auth/token', json: { username, password: secret }, from: '127.0.0.1' },
    });
    if (status !== 200) throw new Error(`${username} cannot sign in: ${status} ${text}`);
    return text;
  };
  const userToken = await signIn(attackerName, password);
  return { ...target, userToken, adminToken: await signIn('admin', adminPassword) };
}

/** The bare server beside the service. */
async function startControl(): Promise<{ readonly port: number; stop(): Promise<unknown> }> {
  const command = [process.execPath, join(import.meta.dirname, 'control-server.ts'), join(makeFolder(), 'f')];
  const control = new Running(command, { settings: { PATH: process.env['PATH'] } });
  await until(() => control.stdout.includes('\n'));
  return { port: Number(control.stdout.trim()), stop: () => control.stop() };
}

/** Descriptors of the process when they are as before, or after a minute. */
async function whenBack(dundun: Dundun, before: number): Promise<number> {
  let descriptors = 0;
  const areBack = () => {
    descriptors = descriptorsOf(dundun);
    return descriptors <= before + descriptorsSpare;
  };
  await until(areBack, { msMax: 60_000 }).catch(() => {});
  return descriptors;
}

function descriptorsOf(dundun: Dundun): number {
  return readdirSync(`/proc/${dundun.child.pid}/fd`).length;
}

function watchMemory(dundun: Dundun): { stop(): number } {
  let bytesMax = 0;
  const look = () => {
    if (dundun.child.exitCode !== null) return;
    const status = readFileSync(`/proc/${dundun.child.pid}/status`, 'utf8');
    bytesMax = Math.max(bytesMax, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
  };
  const timer = setInterval(look, memoryEveryMs);
  return {
    stop: () => {
      clearInterval(timer);
      return bytesMax;
    },
  };
}
