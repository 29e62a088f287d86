// Latencies, medians, and numbers as people read them. Used by every part of the bench.

/** Milliseconds, gathered in a growing column so that recording costs next to nothing. */
export class Latencies {
  #column = new Float64Array(1 << 16);
  #count = 0;

  add(ms: number): void {
    if (this.#count === this.#column.length) {
      const wider = new Float64Array(this.#column.length * 2);
      wider.set(this.#column);
      this.#column = wider;
    }
    this.#column[this.#count++] = ms;
  }

  /** The percentiles asked for (0 to 100), in milliseconds; NaN where nothing was recorded. */
  percentiles(...wanted: readonly number[]): number[] {
    const sorted = this.#column.slice(0, this.#count).sort();
    return wanted.map((percent) => sorted[Math.min(sorted.length - 1, (sorted.length * percent) / 100) | 0] ?? NaN);
  }
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** 12 345; small numbers with two digits behind the point. */
export function shown(number: number): string {
  if (!Number.isFinite(number)) return '–';
  if (Math.abs(number) < 100 && !Number.isInteger(number)) return number.toFixed(2);
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ' ');
}

/** A Markdown table with columns of even width, so that a terminal shows it as well. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, i) => Math.max(title.length, 3, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (i === 0 ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width))).join(' | ')} |`;
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}
