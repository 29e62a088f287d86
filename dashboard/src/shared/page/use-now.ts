// The time, for what is told in words: one timer for the whole page, however many ages are on it.
import { useSyncExternalStore } from 'react';
import { limits } from '../../limits.ts';

let nowMs = Date.now();
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
  nowMs = Date.now();
  for (const listener of listeners) listener();
}

export function useNow(): number {
  // Something newer than the last tick may have arrived meanwhile.
  if (Date.now() - nowMs > limits.ageTickMs || timer === undefined) nowMs = Date.now();
  return useSyncExternalStore(subscribe, () => nowMs);
}
