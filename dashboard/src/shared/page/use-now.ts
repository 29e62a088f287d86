// The time by the clock of the server, for what is told in words: one timer for the whole page, however many ages are on it.
import { useSyncExternalStore } from 'react';
import { readFacts } from '../../api/facts.ts';
import { isServerTimeOld, serverNow, setServerTime } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';

let nowMs = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(tick, limits.ageTickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function tick(): void {
  // Asked for once: the next tick compares with what the browser's clock shows now, also where no answer comes.
  if (isServerTimeOld()) {
    setServerTime(serverNow());
    readFacts().catch(() => {});
  }
  nowMs = serverNow();
  for (const listener of listeners) listener();
}

export function useNow(): number {
  // Something newer than the last tick may have arrived meanwhile.
  if (serverNow() - nowMs > limits.ageTickMs || timer === undefined) nowMs = serverNow();
  return useSyncExternalStore(subscribe, () => nowMs);
}
