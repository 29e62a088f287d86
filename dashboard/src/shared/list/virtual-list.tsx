// A long list of rows of one height that scrolls with the window and draws only what is in view; up and down arrows
// move the focus from row to row. Rows not yet there are drawn by `renderRow` with undefined, at their final height.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import classes from './virtual-list.module.css';

export interface VirtualListProps<T> {
  readonly label: string;
  readonly total: number;
  readonly rowHeight: number;
  /** The row at a place; undefined while it is on its way. */
  readonly rowAt: (index: number) => T | undefined;
  readonly renderRow: (row: T | undefined, index: number) => ReactNode;
  /** Told which rows are in view, so that they can be fetched. */
  readonly onRange?: (range: { readonly first: number; readonly last: number }) => void;
}

export function VirtualList<T>({ label, total, rowHeight, rowAt, renderRow, onRange }: VirtualListProps<T>) {
  const list = useRef<HTMLUListElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: total,
    estimateSize: () => rowHeight,
    overscan: 8,
    scrollMargin: top,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => onRange?.({ first, last }), [onRange, first, last]);
  return (
    <ul
      ref={list}
      className={classes.list}
      aria-label={label}
      // Browsers bound the height of an element; what is beyond is reached by searching.
      style={{ height: Math.min(virtual.getTotalSize(), 30_000_000) }}
      onKeyDown={(event) => moveFocus(event, (index) => virtual.scrollToIndex(index))}
    >
      {items.map(({ index, start }) => (
        <li
          key={index}
          data-index={index}
          className={classes.row}
          style={{ height: rowHeight, transform: `translateY(${start - top}px)` }}
          aria-setsize={total}
          aria-posinset={index + 1}
        >
          {renderRow(rowAt(index), index)}
        </li>
      ))}
    </ul>
  );
}

/** To the first thing that takes the focus in the row above or below. */
function moveFocus(event: KeyboardEvent, scrollTo: (index: number) => void): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = (event.target as HTMLElement).closest('[data-index]');
  if (step === undefined || row === null) return;
  event.preventDefault();
  const index = Number(row.getAttribute('data-index')) + step;
  scrollTo(Math.max(0, index));
  const next = row.parentElement?.querySelector<HTMLElement>(`[data-index="${index}"] :is(a, button)`);
  next?.focus();
}
