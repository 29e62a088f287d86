// Whether the search is open; the rail, the bar and the keys open it.
import { useSyncExternalStore } from 'react';

let isOpen = false;
const listeners = new Set<() => void>();

function become(next: boolean): void {
  isOpen = next;
  for (const listener of listeners) listener();
}

export const openSearch = (): void => become(true);
export const closeSearch = (): void => become(false);

export function useSearchOpen(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOpen,
  );
}
