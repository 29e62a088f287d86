// The thread of Others: asks each question some times a second, and keeps how long the answers took.
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { AnsweredMs, OthersData, Question } from './others.ts';

const { base, questions } = workerData as OthersData;
const everyMs = 200;
/** Who waits for longer has gone. */
const waitMsMax = 20_000;
let answered = new Map<string, { ms: number[]; failed: number }>();

parentPort?.on('message', () => {
  const taken: AnsweredMs = answered;
  answered = new Map();
  parentPort?.postMessage(taken);
});

for (const question of questions) void askOn(question);

async function askOn(question: Question): Promise<never> {
  for (;;) {
    const startMs = performance.now();
    const isAnswered = await isWell(question);
    const into = answered.get(question.name) ?? { ms: [], failed: 0 };
    answered.set(question.name, into);
    into.ms.push(isAnswered ? performance.now() - startMs : Number.POSITIVE_INFINITY);
    into.failed += isAnswered ? 0 : 1;
    await pause(everyMs);
  }
}

async function isWell({ path, method = 'GET', headers = {}, body, sinceMs }: Question): Promise<boolean> {
  const since = sinceMs === undefined ? '' : new Date(Date.now() - sinceMs).toISOString();
  const signal = AbortSignal.timeout(waitMsMax);
  try {
    const answer = await fetch(`${base}${path}${since}`, {
      method,
      headers,
      signal,
      ...(body !== undefined && { body }),
    });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
