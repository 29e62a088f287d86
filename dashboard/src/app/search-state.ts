// Whether the search is open; the rail, the bar and the keys open it. What is typed before its field has the focus is
// kept for it: the dialog is loaded when it is first opened, and a person who has pressed `/` types on.
import { useSyncExternalStore } from 'react';
import { limits } from '../limits.ts';

let isOpen = false;
let early = '';
const listeners = new Set<() => void>();

function become(next: boolean): void {
  isOpen = next;
  early = '';
  window.removeEventListener('keydown', keepEarly, true);
  if (next) window.addEventListener('keydown', keepEarly, true);
  for (const listener of listeners) listener();
}

export const openSearch = (): void => {
  if (!isOpen) become(true);
};
export const closeSearch = (): void => become(false);

/** What was typed before the field had the focus, once. From then on the field hears its keys itself. */
export function takeEarly(): string {
  const text = early;
  early = '';
  window.removeEventListener('keydown', keepEarly, true);
  return text;
}

function keepEarly(event: KeyboardEvent): void {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isField(target)) return;
  if (key === 'Backspace') early = early.slice(0, -1);
  else if (key.length === 1) early = (early + key).slice(0, limits.searchEarlyCharsMax);
  else return;
  // A letter presses no button and scrolls no page meanwhile.
  event.preventDefault();
  event.stopPropagation();
}

function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable]') !== null;
}

export function useSearchOpen(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOpen,
  );
}
