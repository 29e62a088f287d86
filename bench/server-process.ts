// A process under measurement: started on its core, known by its ready line, watched through /proc, stopped by SIGTERM.
// Serves for Dundun and for the baselines alike, so that both are treated the same.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { onServerCore } from './cores.ts';

interface Ready {
  readonly http?: number;
  readonly mqtt?: number;
  readonly metrics?: number;
}

/** Resolves with the ports of a program as soon as it serves. */
type ReadReady = (child: ChildProcess) => Promise<Ready>;

/** Clock ticks of /proc/PID/stat, which Linux fixes at 100 a second for programs. */
const ticksPerS = 100;
const quietStepMs = 250;
const quietMsMax = 120_000;
const startMsMax = 60_000;
/** Those that run, so that a failure leaves none behind. */
const running = new Set<ChildProcess>();
/** Those that were asked to end. */
const leaving = new WeakSet<ChildProcess>();

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ready: Ready;
  readonly #ended: Promise<void>;
  /** From the start of the process to its ready line. */
  readonly startMs: number;

  private constructor(child: ChildProcess, ready: Ready, ended: Promise<void>, startMs: number) {
    this.#child = child;
    this.#ready = ready;
    this.#ended = ended;
    this.startMs = startMs;
  }

  /** Starts a script with this Node.js; resolves at its ready line. */
  static start(
    script: string,
    options: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<ServerProcess> {
    const { args = [], env = {} } = options;
    return ServerProcess.startProgram(process.execPath, [script, ...args], { env, readReady });
  }

  /** Starts any program; resolves when `readReady` does. */
  static async startProgram(
    named: string,
    options: readonly string[],
    { env, readReady: read }: { readonly env: Readonly<Record<string, string>>; readonly readReady: ReadReady },
  ): Promise<ServerProcess> {
    const startedMs = performance.now();
    const [program, args] = onServerCore(named, options);
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
    const script = options[0] ?? named;
    running.add(child);
    const ended = new Promise<void>((resolve) => {
      child.once('exit', (code, signal) => {
        running.delete(child);
        if (!leaving.has(child)) console.error(`bench: ${script} (process ${child.pid}) ended with ${signal ?? code}.`);
        resolve();
      });
    });
    const deadline = setTimeout(() => child.kill('SIGKILL'), startMsMax);
    const early = ended.then(() => Promise.reject(new Error(`${script} ended, or was ended, before it was ready.`)));
    const ready = await Promise.race([read(child), early]).finally(() => clearTimeout(deadline));
    return new ServerProcess(child, ready, ended, performance.now() - startedMs);
  }

  /** Ends whatever still runs after a failure; a section that went well has stopped its own. */
  static killAll(): void {
    for (const child of running) {
      leaving.add(child);
      child.kill('SIGKILL');
    }
  }

  get httpPort(): number {
    if (this.#ready.http === undefined) throw new Error('The process opened no HTTP port.');
    return this.#ready.http;
  }

  /** Of the figures; that of HTTP where they have none of their own. */
  get metricsPort(): number {
    return this.#ready.metrics ?? this.httpPort;
  }

  get mqttPort(): number {
    if (this.#ready.mqtt === undefined) throw new Error('The process opened no MQTT port.');
    return this.#ready.mqtt;
  }

  /** Processor time used by all threads since the start, seconds. */
  cpuS(): number {
    // The name, in parentheses, may hold spaces; utime and stime are the 12th and 13th field behind it.
    const fields = this.#proc('stat')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) / ticksPerS;
  }

  /** Memory in use now, MiB. */
  rssMib(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(this.#proc('status'))?.[1] ?? Number.NaN) / 1024;
  }

  /** The most memory that was in use at any time so far, MiB. */
  peakMib(): number {
    return Number(/VmHWM:\s+(\d+)/.exec(this.#proc('status'))?.[1] ?? Number.NaN) / 1024;
  }

  /** Files, sockets and the like that are open now. */
  descriptors(): number {
    try {
      return readdirSync(`/proc/${this.#child.pid}/fd`).length;
    } catch {
      // Not Linux.
      return Number.NaN;
    }
  }

  /** Bytes the process has caused to be written to the device so far. */
  writtenBytes(): number {
    return Number(/^write_bytes: (\d+)/m.exec(this.#proc('io'))?.[1] ?? Number.NaN);
  }

  /** Resolves when the process does (almost) nothing: what it put off must not burden the next measurement. */
  async quiet(): Promise<void> {
    const deadlineMs = performance.now() + quietMsMax;
    for (let before = this.cpuS(), still = 0; still < 2 && performance.now() < deadlineMs; ) {
      await pause(quietStepMs);
      this.#assertAlive();
      const now = this.cpuS();
      still = now - before <= 0.02 ? still + 1 : 0;
      before = now;
    }
  }

  async stop(): Promise<void> {
    this.#assertAlive();
    leaving.add(this.#child);
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  /** Stops the process, or lets it go on, as a machine that is suspended does. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#assertAlive();
    this.#child.kill(signal);
  }

  /** Ends the process as a power cut would. */
  async kill(): Promise<void> {
    this.#assertAlive();
    leaving.add(this.#child);
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  #assertAlive(): void {
    if (!running.has(this.#child))
      throw new Error('A measured process ended too early; its figures are worth nothing.');
  }

  #proc(file: string): string {
    try {
      return readFileSync(`/proc/${this.#child.pid}/${file}`, 'latin1');
    } catch {
      // Not Linux: the report shows a dash for what cannot be known.
      return '';
    }
  }
}

async function readReady(child: ChildProcess): Promise<Ready> {
  if (child.stdout === null) throw new Error('The process has no standard output.');
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('{"msg":"ready"')) continue;
    child.stdout.resume();
    return JSON.parse(line) as Ready;
  }
  throw new Error('The process closed its output before it was ready.');
}
