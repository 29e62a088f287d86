// How often sensors, or gateways, are usually heard: a few numbers for each, in typed arrays, because there may be hundreds of
// thousands. Noted with each reception, so that it must cost next to nothing; bounded in bytes (I4).
import { limits } from '../../config/limits.ts';

const pageKeys = 1024;
/** Bytes for each key. */
const keyBytes = 8 + 4 + 4 + 1 + 1;

interface Page {
  /** When it was last heard, in milliseconds since 1970 UTC; 0: not known. */
  readonly lastMs: Float64Array;
  /** The usual gap, and the longest usual one, in milliseconds. */
  readonly usualMs: Float32Array;
  readonly longestMs: Float32Array;
  /** Gaps from which that is known, up to 255. */
  readonly gaps: Uint8Array;
  /** 1: it is known to be silent. */
  readonly marked: Uint8Array;
}

export class Habits {
  readonly #pages = new Map<number, Page>();
  readonly #pagesMax: number;
  /** Called when one that is marked is heard again. */
  readonly #onReturn: () => void;

  constructor(parts: { readonly bytesMax: number; readonly onReturn: () => void }) {
    this.#pagesMax = Math.floor(parts.bytesMax / (pageKeys * keyBytes));
    this.#onReturn = parts.onReturn;
  }

  /** Notes a reception. */
  note(key: number, atMs: number): void {
    const page = this.#pages.get(Math.floor(key / pageKeys)) ?? this.#newPage(key);
    if (page === undefined) return;
    const at = key % pageKeys;
    const beforeMs = page.lastMs[at] as number;
    if (page.marked[at] === 1) {
      page.marked[at] = 0;
      this.#onReturn();
    }
    if (atMs <= beforeMs) return;
    page.lastMs[at] = atMs;
    const gapMs = atMs - beforeMs;
    if (beforeMs !== 0 && gapMs >= limits.habitGapMsMin) learn(page, at, gapMs);
  }

  /** Learns the habit anew from receptions that are stored; without effect where it is known. */
  adopt(key: number, timesMs: readonly number[]): void {
    if (this.isKnown(key)) return;
    const isMarked = this.#pages.get(Math.floor(key / pageKeys))?.marked[key % pageKeys] === 1;
    this.forget(key);
    for (const atMs of timesMs.toSorted((one, other) => one - other)) this.note(key, atMs);
    this.mark(key, isMarked);
  }

  /** When it was last heard; undefined: not known. */
  lastMs(key: number): number | undefined {
    const page = this.#pages.get(Math.floor(key / pageKeys));
    return page?.lastMs[key % pageKeys] || undefined;
  }

  isKnown(key: number): boolean {
    return this.silentAfterMs(key) !== undefined;
  }

  /** The usual gap, in milliseconds. */
  usualMs(key: number): number | undefined {
    const page = this.#pages.get(Math.floor(key / pageKeys));
    return page?.usualMs[key % pageKeys] || undefined;
  }

  /** For how long it may be quiet, in milliseconds; undefined where its habit is not known. */
  silentAfterMs(key: number): number | undefined {
    const page = this.#pages.get(Math.floor(key / pageKeys));
    return page === undefined ? undefined : silentAfter(page, key % pageKeys);
  }

  /** Remembers that it is known to be silent, or no longer. */
  mark(key: number, isSilent: boolean): void {
    const page = this.#pages.get(Math.floor(key / pageKeys)) ?? (isSilent ? this.#newPage(key) : undefined);
    if (page !== undefined) page.marked[key % pageKeys] = isSilent ? 1 : 0;
  }

  /** Forgets one that was removed. */
  forget(key: number): void {
    const page = this.#pages.get(Math.floor(key / pageKeys));
    if (page === undefined) return;
    for (const column of Object.values(page) as Page[keyof Page][]) column[key % pageKeys] = 0;
  }

  /** What was heard later than now, while the clock was ahead, was heard now. */
  beginNoLater(nowMs: number): void {
    for (const { lastMs } of this.#pages.values())
      for (let at = 0; at < pageKeys; at++) if ((lastMs[at] as number) > nowMs) lastMs[at] = nowMs;
  }

  /**
   * The keys that are quiet for too long and not marked, a page a step so that other work may have its turn between two.
   * @param sinceMs since when receptions have been noted: before, nobody listened.
   */
  *overdue({ nowMs, sinceMs }: { readonly nowMs: number; readonly sinceMs: number }): Generator<readonly number[]> {
    for (const [number, page] of this.#pages) {
      const found: number[] = [];
      for (let at = 0; at < pageKeys; at++) {
        const silentMs = page.lastMs[at] === 0 || page.marked[at] === 1 ? undefined : silentAfter(page, at);
        if (silentMs !== undefined && nowMs - Math.max(page.lastMs[at] as number, sinceMs) > silentMs)
          found.push(number * pageKeys + at);
      }
      yield found;
    }
  }

  #newPage(key: number): Page | undefined {
    if (this.#pages.size >= this.#pagesMax) return undefined;
    const page = {
      lastMs: new Float64Array(pageKeys),
      usualMs: new Float32Array(pageKeys),
      longestMs: new Float32Array(pageKeys),
      gaps: new Uint8Array(pageKeys),
      marked: new Uint8Array(pageKeys),
    };
    this.#pages.set(Math.floor(key / pageKeys), page);
    return page;
  }
}

/** A habit that changes is learned within some gaps; an outage is none, so it counts no more than a few usual gaps. */
function learn(page: Page, at: number, gapMs: number): void {
  const gaps = page.gaps[at] as number;
  const usualMs = page.usualMs[at] as number;
  const countedMs = gaps < limits.habitGapsMin ? gapMs : Math.min(gapMs, 3 * usualMs);
  const share = Math.max(1 / (gaps + 1), 1 / 8);
  page.usualMs[at] = usualMs + (countedMs - usualMs) * share;
  const silentMs = silentAfter(page, at);
  if (silentMs === undefined || gapMs <= silentMs)
    page.longestMs[at] = Math.max(gapMs, (page.longestMs[at] as number) * 0.98);
  if (gaps < 255) page.gaps[at] = gaps + 1;
}

function silentAfter(page: Page, at: number): number | undefined {
  if ((page.gaps[at] as number) < limits.habitGapsMin) return undefined;
  const usualMs = limits.silentIntervals * (page.usualMs[at] as number);
  return Math.max(usualMs, limits.silentGaps * (page.longestMs[at] as number), limits.silentMsMin);
}
