// What others ask for while a load is on: each question five times a second, timed from asking to the last byte. An answer that
// is no success, or none, counts as one that never came. Asked by a thread of its own, because whatever else the load
// generator does would be counted as waiting. Used by the sections overload and soak.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { Latencies } from '../figures.ts';
import { Fleet } from '../fleet.ts';

export interface Question {
  readonly name: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The path ends with the time so many milliseconds ago. */
  readonly sinceMs?: number;
}

export interface OthersData {
  readonly base: string;
  readonly questions: readonly Question[];
}

export type AnsweredMs = ReadonlyMap<string, { readonly ms: readonly number[]; readonly failed: number }>;

/** How the questions were answered. */
export interface Answered {
  /** The 99th percentile of one kind, milliseconds; NaN where none was asked. */
  readonly p99Ms: (name: string) => number;
  readonly count: number;
  /** Answered with anything but success, or not at all. */
  readonly failed: number;
}

/** Health, a device, a sign-in. */
export const usualNames = ['GET', 'sign-in', 'health'] as const;

export function usualQuestions(fleet: Fleet, key: string): Question[] {
  const device = fleet.sensors[0]?.split('/')[1];
  const headers = { authorization: `Bearer ${key}` };
  const json = { 'content-type': 'application/json' };
  return [
    { name: 'health', path: '/health/ready' },
    { name: 'GET', path: `/api/v2/devices/${device}`, headers },
    { name: 'sign-in', path: '/api/v2/auth/token', method: 'POST', headers: json, body: JSON.stringify(Fleet.login) },
  ];
}

export class Others {
  readonly #thread: Worker;

  constructor(httpPort: number, questions: readonly Question[]) {
    const workerData: OthersData = { base: `http://127.0.0.1:${httpPort}`, questions };
    this.#thread = new Worker(new URL('./others-thread.ts', import.meta.url), { workerData });
  }

  /** What became of the questions since the last call. */
  async take(): Promise<Answered> {
    this.#thread.postMessage('take');
    const [answered] = (await once(this.#thread, 'message')) as [AnsweredMs];
    const kinds = [...answered.values()];
    return {
      p99Ms: (name) => {
        const latencies = new Latencies();
        for (const ms of answered.get(name)?.ms ?? []) latencies.add(ms);
        return latencies.percentiles(99)[0] ?? Number.NaN;
      },
      count: kinds.reduce((sum, { ms }) => sum + ms.length, 0),
      failed: kinds.reduce((sum, { failed }) => sum + failed, 0),
    };
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }
}
