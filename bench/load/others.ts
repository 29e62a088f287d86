// What others ask for while a load is on: each kind some times a second, timed from asking to the last byte. An answer that is
// no success, or none, counts as one that never came. Used by the sections overload and soak.
import { setTimeout as pause } from 'node:timers/promises';
import { Latencies } from '../figures.ts';
import { Fleet } from '../fleet.ts';

type Ask = () => Promise<Response>;

/** How one kind of question was answered since it was last asked for. */
export interface Answered {
  readonly latencies: Latencies;
  readonly count: number;
  /** Answered with anything but success, or not at all. */
  readonly failed: number;
}

const everyMs = 200;
/** Who waits for longer has gone. */
const waitMsMax = 20_000;

/** Health, a device, a sign-in. */
export function usualQuestions(fleet: Fleet, key: string): ReadonlyMap<string, Ask> {
  const base = `http://127.0.0.1:${fleet.server.httpPort}`;
  const device = fleet.sensors[0]?.split('/')[1];
  const json = { 'content-type': 'application/json' };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${base}${path}`, { ...init, signal: AbortSignal.timeout(waitMsMax) });
  return new Map<string, Ask>([
    ['health', () => ask('/health/ready')],
    ['GET', () => ask(`/api/v2/devices/${device}`, { headers: { authorization: `Bearer ${key}` } })],
    ['sign-in', () => ask('/api/v2/auth/token', { method: 'POST', headers: json, body: JSON.stringify(Fleet.login) })],
  ]);
}

export class Others {
  readonly #answered = new Map<string, { latencies: Latencies; count: number; failed: number }>();
  readonly #asking: Promise<void>[];
  #isOver = false;

  constructor(questions: ReadonlyMap<string, Ask>) {
    for (const name of questions.keys()) this.#begin(name);
    this.#asking = [...questions].map(([name, ask]) => this.#askOn(name, ask));
  }

  /** What became of the questions since the last call. */
  take(): ReadonlyMap<string, Answered> {
    const taken = new Map(this.#answered);
    for (const name of taken.keys()) this.#begin(name);
    return taken;
  }

  /** Resolves when the last answers have come. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#asking);
  }

  #begin(name: string): void {
    this.#answered.set(name, { latencies: new Latencies(), count: 0, failed: 0 });
  }

  async #askOn(name: string, ask: Ask): Promise<void> {
    while (!this.#isOver) {
      const startMs = performance.now();
      const isAnswered = await isWell(ask);
      const into = this.#answered.get(name);
      if (into !== undefined && !this.#isOver) {
        into.count += 1;
        into.failed += isAnswered ? 0 : 1;
        into.latencies.add(isAnswered ? performance.now() - startMs : Number.POSITIVE_INFINITY);
      }
      await pause(everyMs);
    }
  }
}

/** The 99th percentile of a kind, milliseconds. */
export function p99Of(answered: ReadonlyMap<string, Answered>, kind: string): number {
  return answered.get(kind)?.latencies.percentiles(99)[0] ?? Number.NaN;
}

async function isWell(ask: Ask): Promise<boolean> {
  try {
    const answer = await ask();
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
