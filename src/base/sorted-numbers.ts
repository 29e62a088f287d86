// Binary searches in ascending numbers, such as the times of a series.

/** The first index in [from, to) whose number is at least `ms`; `to` where there is none. */
export function lowerBound(at: Float64Array, ms: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((at[middle] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first index in [from, to) whose number is greater than `ms`; `to` where there is none. */
export function upperBound(at: Float64Array, ms: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((at[middle] as number) <= ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** As `lowerBound`, faster where the result is near `from`. */
export function lowerBoundNear(at: Float64Array, ms: number, from: number, to: number): number {
  let step = 1;
  let first = from;
  let low = from;
  while (low < to && (at[low] as number) < ms) {
    first = low + 1;
    low += step;
    step *= 2;
  }
  return lowerBound(at, ms, first, Math.min(low, to));
}

/** As `lowerBound`, faster where the result is near `to`. */
export function lowerBoundNearEnd(at: Float64Array, ms: number, from: number, to: number): number {
  let step = 1;
  let end = to;
  let high = to - 1;
  while (high >= from && (at[high] as number) >= ms) {
    end = high;
    high -= step;
    step *= 2;
  }
  return lowerBound(at, ms, Math.max(high + 1, from), end);
}
