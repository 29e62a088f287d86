// Finds the cheapest frame for the differences of a series: small integers above a base in steps of a factor, with the
// few outliers written separately as patches. Pure arithmetic; used by series-encoder.ts.
import { scratch } from '../bytes/scratch.ts';

/**
 * A number v is written as the unit (v - base) / factor in `bits` bits; a unit that needs more bits, or is negative, is
 * a patch.
 */
export interface SeriesFrame {
  readonly base: number;
  readonly factor: number;
  readonly bits: number;
  readonly patches: number;
  /** Estimated bits of the patches. */
  readonly patchesBits: number;
}

/** The whole range, and the position of the mean in it from 0 to 1. */
interface ValueRange {
  readonly whole: SeriesFrame;
  readonly max: number;
  readonly lean: number;
}

/** A mean nearer to the middle than this means that neither end of the range holds nearly all numbers. */
const evenMin = 0.35;
const samplesMax = 256;
/** With at least this count, windows are searched in a sample; with fewer, at the ends of the range. */
const sampledMin = 128;
/** No window is searched for units of more bits. */
const bitsMax = 53;
const fromLeast = new Uint16Array(bitsMax + 1);
const fromGreatest = new Uint16Array(bitsMax + 1);

/** The frame without patches, and a narrower one with a few patches where one may be cheaper. */
export function findFrames(numbers: Float64Array): readonly [SeriesFrame, ...SeriesFrame[]] {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  for (let i = 0; i < numbers.length; i++) {
    const number = numbers[i]!;
    if (number < min) min = number;
    if (number > max) max = number;
    sum += number;
  }
  if (min >= max) return [{ base: min, factor: 1, bits: 0, patches: 0, patchesBits: 0 }];
  const factor = commonFactor(numbers, min, max);
  const whole = { base: min, factor, bits: bitsOf((max - min) / factor), patches: 0, patchesBits: 0 };
  const lean = (sum / numbers.length - min) / (max - min);
  const narrow =
    numbers.length < sampledMin ? narrowAtEnd(numbers, { whole, max, lean }) : narrowToMiddle(numbers, whole);
  return narrow === undefined ? [whole] : [whole, narrow];
}

/** Bits needed for integers from 0 to `max`. */
function bitsOf(max: number): number {
  return max < 2 ** 31 ? 32 - Math.clz32(max) : 64 - Math.clz32(Math.floor(max / 2 ** 32));
}

/** Estimated bits of a patch: a byte for the distance to it, and its unit as a signed varint. */
function patchBits(unitBits: number): number {
  return 12 + unitBits * (8 / 7);
}

function commonFactor(numbers: Float64Array, min: number, max: number): number {
  if (max - min < 2 ** 31) return smallFactor(numbers, min, max);
  let factor = max - min;
  for (let i = 0; i < numbers.length && factor !== 1; i++) {
    let rest = (numbers[i]! - min) % factor;
    while (rest !== 0) {
      const next = factor % rest;
      factor = rest;
      rest = next;
    }
  }
  return factor;
}

/** The same in 32-bit arithmetic, where the remainder is far cheaper. */
function smallFactor(numbers: Float64Array, min: number, max: number): number {
  let factor = (max - min) | 0;
  for (let i = 0; i < numbers.length && factor !== 1; i++) {
    let rest = (((numbers[i]! - min) | 0) % factor) | 0;
    while (rest !== 0) {
      const next = (factor % rest) | 0;
      factor = rest;
      rest = next;
    }
  }
  return factor;
}

/** The window at the lower or the upper end of the range that takes the fewest bits with its patches. */
function narrowAtEnd(numbers: Float64Array, { whole, max, lean }: ValueRange): SeriesFrame | undefined {
  if (lean > evenMin && lean < 1 - evenMin) return undefined;
  const { base: min, factor } = whole;
  const greatest = (max - min) / factor;
  if (whole.bits * numbers.length < patchBits(whole.bits)) return undefined;
  fromLeast.fill(0);
  fromGreatest.fill(0);
  for (let i = 0; i < numbers.length; i++) {
    const unit = (numbers[i]! - min) / factor;
    fromLeast[bitsOf(unit)]! += 1;
    fromGreatest[bitsOf(greatest - unit)]! += 1;
  }
  let best: SeriesFrame | undefined;
  let bestCost = whole.bits * numbers.length;
  let above = 0;
  let below = 0;
  for (let bits = whole.bits - 1; bits >= 0; bits--) {
    above += fromLeast[bits + 1]!;
    below += fromGreatest[bits + 1]!;
    const patches = Math.min(above, below);
    const patchesBits = patches * patchBits(whole.bits);
    const cost = bits * numbers.length + patchesBits;
    if (cost >= bestCost) continue;
    bestCost = cost;
    best = { base: above <= below ? min : max - factor * (2 ** bits - 1), factor, bits, patches, patchesBits };
  }
  return best;
}

/** The window around the middle of a sample. */
function narrowToMiddle(
  numbers: Float64Array,
  { base: min, factor, bits: wholeBits }: SeriesFrame,
): SeriesFrame | undefined {
  const [low, high] = middleOf(numbers);
  const bits = bitsOf((high - low) / factor);
  if (bits >= wholeBits) return undefined;
  // Unused values of the bits are divided between below and above; the base stays a whole number of factors above the
  // minimum.
  const slack = Math.floor((2 ** bits - 1 - (high - low) / factor) / 2);
  const base = Math.max(low - slack * factor, min);
  const end = base + factor * (2 ** bits - 1);
  let patches = 0;
  for (let i = 0; i < numbers.length; i++) if (numbers[i]! < base || numbers[i]! > end) patches += 1;
  const patchesBits = patches * patchBits(wholeBits);
  return patchesBits < (wholeBits + 1) * numbers.length ? { base, factor, bits, patches, patchesBits } : undefined;
}

/** The lowest and highest of a sample without its ends. */
function middleOf(numbers: Float64Array): readonly [low: number, high: number] {
  const stride = Math.ceil(numbers.length / samplesMax);
  const sample = scratch.take(Math.ceil(numbers.length / stride));
  for (let i = 0; i < sample.length; i++) sample[i] = numbers[i * stride]!;
  sample.sort();
  const trim = Math.max(1, sample.length >>> 6);
  return [sample[trim]!, sample[sample.length - 1 - trim]!];
}
