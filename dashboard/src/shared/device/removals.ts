// Deleting that can be undone: what is deleted goes from the screen at once, and from the server when the seconds in which
// it can be taken back are over, or when the page is left. Lists leave out what `useRemovals()` holds.
import { useSyncExternalStore } from 'react';
import { limits } from '../../limits.ts';
import { toasts } from '../page/toasts.tsx';

interface Removal {
  /** Of all that is deleted, such as `notification/5f0c…`. */
  readonly key: string;
  readonly text: string;
  /** Deletes it on the server; may be called while the page goes. */
  readonly remove: () => Promise<void>;
  /** Hears why it failed; the record is shown again. */
  readonly onFault: (error: unknown) => void;
}

let waiting: ReadonlyMap<string, () => void> = new Map();
const listeners = new Set<() => void>();

function become(next: ReadonlyMap<string, () => void>): void {
  waiting = next;
  for (const listener of listeners) listener();
}

export function removeWithUndo({ key, text, remove, onFault }: Removal): void {
  const end = () => become(new Map([...waiting].filter(([other]) => other !== key)));
  const act = () => {
    clearTimeout(timer);
    remove().catch(onFault).finally(end);
  };
  const timer = setTimeout(act, limits.undoMs);
  become(new Map(waiting).set(key, act));
  const undo = () => {
    clearTimeout(timer);
    end();
  };
  toasts.show({ text, undo });
}

/** Who leaves has not undone. */
window.addEventListener('pagehide', () => {
  for (const act of waiting.values()) act();
});

/** The keys of what is deleted but can still be taken back. */
export function useRemovals(): { readonly has: (key: string) => boolean } {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => waiting,
  );
}
