// Encodes a series of integers (times, scaled values, distances) in the fewest bytes it finds: the integers, their
// differences, or second differences (docs/chunk-format.md, "Series"). series-decoder.ts decodes it.
import { packBits, packedBytes } from '../bytes/bit-packing.ts';
import type { ByteWriter } from '../bytes/byte-writer.ts';
import { scratch } from '../bytes/scratch.ts';
import { compressSymbols } from '../bytes/zstd.ts';
import { findFrames, type SeriesFrame } from './series-frame.ts';
import { entropyBytes, makeSymbols, symbolLayouts } from './symbols.ts';

/** How often differences are taken. */
export type Order = 0 | 1 | 2;

/** A way to write a series, with its estimated bytes. */
export interface SeriesPlan {
  readonly bytes: number;
  readonly write: (out: ByteWriter) => void;
}

interface Differences {
  readonly order: Order;
  readonly heads: readonly number[];
  readonly numbers: Float64Array;
  readonly frames: readonly [SeriesFrame, ...SeriesFrame[]];
  /** The cheapest frame without symbols, and its bits in total. */
  readonly packed: SeriesFrame;
  readonly packedBits: number;
}

interface Layout {
  readonly differences: Differences;
  readonly frame: SeriesFrame;
  readonly code: number;
  readonly rawBits: number;
  readonly symbols: Uint8Array | undefined;
  readonly bytes: number;
}

interface Candidate extends Layout {
  readonly symbols: Uint8Array;
  /** Bytes that it takes in all, as far as they can be told without compressing. */
  readonly estimate: number;
}

/** Layouts whose estimates are this many times the least are tried too. */
const nearEnough = 1.01;
/** A layout that takes less than this part of its estimate has repeats. */
const repetitive = 0.85;
/** Range within which second differences are exact; other numbers are written as doubles. */
const spanMax = 2 ** 50;
/** With fewer bytes zstd costs more than it saves. */
const compressedMin = 128;
/** Estimated bits of a first value, and of header and base. */
const headBits = 16;
const frameBits = 24;
/** An order whose packed bits are this many times the best one's is not tried with zstd. */
const hopeless = 1.5;

let isInDoubles = false;

/** Whether all is to be written as doubles. */
export function areDoublesWanted(): boolean {
  return isInDoubles;
}

/** Runs `encode`, in which all series are written as doubles. */
export function inDoubles<Result>(encode: () => Result): Result {
  isInDoubles = true;
  try {
    return encode();
  } finally {
    isInDoubles = false;
  }
}

/**
 * @param orders one or two worth trying, the more likely first
 * @returns a plan that is valid until the next chunk begins
 */
export function planSeries(column: Float64Array, orders: readonly [Order, Order?]): SeriesPlan {
  if (isInDoubles || !canTakeDifferences(column)) return planDoubles(column);
  const first = takeDifferences(column, column.length < orders[0] ? 0 : orders[0]);
  const order = orders[1];
  // Constant differences take next to no bytes; only constant values take fewer.
  const isSettled = first.packed.bits + first.packed.patches === 0 && !(order === 0 && first.packed.base === 0);
  if (isSettled || order === undefined || column.length < order) return planLayout(bestLayout([first]));
  const second = takeDifferences(column, order);
  const [nearer, farther] = second.packedBits < first.packedBits ? [second, first] : [first, second];
  const isHopeless = farther.packedBits > nearer.packedBits * hopeless;
  return planLayout(bestLayout(isHopeless ? [nearer] : [nearer, farther]));
}

function planLayout(layout: Layout): SeriesPlan {
  return { bytes: layout.bytes, write: (out) => writeLayout(out, layout) };
}

function planDoubles(column: Float64Array): SeriesPlan {
  return {
    bytes: 1 + column.length * 8,
    write: (out) => {
      out.byte(3);
      for (let i = 0; i < column.length; i++) out.float64(column[i]!);
    },
  };
}

function canTakeDifferences(column: Float64Array): boolean {
  let min = column[0]!;
  let max = min;
  for (let i = 1; i < column.length; i++) {
    const number = column[i]!;
    if (number < min) min = number;
    if (number > max) max = number;
  }
  return max - min < spanMax;
}

function takeDifferences(column: Float64Array, order: Order): Differences {
  const heads: number[] = [];
  let numbers = column;
  for (let level = 0; level < order; level++) {
    heads.push(numbers[0]!);
    const next = scratch.take(numbers.length - 1);
    for (let i = 0; i < next.length; i++) next[i] = numbers[i + 1]! - numbers[i]!;
    numbers = next;
  }
  const frames = findFrames(numbers);
  const [whole, narrow = whole] = frames;
  const isNarrow = bitsIn(narrow, numbers.length) < bitsIn(whole, numbers.length);
  const packed = isNarrow ? narrow : whole;
  return { order, heads, numbers, frames, packed, packedBits: headBits * order + bitsIn(packed, numbers.length) };
}

function bitsIn({ bits, patchesBits }: SeriesFrame, count: number): number {
  return frameBits + bits * count + patchesBits;
}

/** The cheapest layout of one of these. @param all what takes the fewest bits without symbols comes first. */
function bestLayout(all: readonly [Differences, Differences?]): Layout {
  const [{ packed, packedBits }] = all;
  const layout = { differences: all[0], frame: packed, code: 0, rawBits: packed.bits, symbols: undefined };
  let best: Layout = { ...layout, bytes: packedBits / 8 };
  if (all[0].numbers.length < compressedMin) return best;
  const candidates = all.flatMap((differences) => (differences === undefined ? [] : candidatesOf(differences)));
  candidates.sort((a, b) => a.estimate - b.estimate);
  // Compressing costs more than all the rest of a chunk, so only what may be the smallest is compressed. Where zstd finds
  // repeats, of which the estimate knows nothing, all are.
  let estimateMax = (candidates[0]?.estimate ?? 0) * nearEnough;
  for (const { estimate, symbols: plain, bytes: rest, ...candidate } of candidates) {
    if (estimate > estimateMax) break;
    const symbols = compressSymbols(plain);
    const bytes = rest + symbols.length;
    if (bytes < estimate * repetitive) estimateMax = Number.POSITIVE_INFINITY;
    if (bytes < best.bytes) best = { ...candidate, symbols, bytes };
  }
  return best;
}

/** Layouts with symbols that are not compressed yet, with the bytes besides them. */
function candidatesOf(differences: Differences): Candidate[] {
  const { numbers, order, frames } = differences;
  const candidates: Candidate[] = [];
  for (const frame of frames) {
    if (frame.bits === 0) continue;
    const units = unitsOf(numbers, frame);
    for (const [code, rawBits] of symbolCodes(frame.bits)) {
      const symbols = makeSymbols(units, code, rawBits);
      const bytes = 2 * order + 5 + packedBytes(numbers.length, rawBits) + frame.patchesBits / 8;
      candidates.push({ differences, frame, code, rawBits, symbols, bytes, estimate: bytes + entropyBytes(symbols) });
    }
  }
  return candidates;
}

/** The symbol layouts worth trying for units of so many bits, with the number of low bits left raw. */
function symbolCodes(bits: number): readonly (readonly [code: number, rawBits: number])[] {
  if (bits <= 8) return [[symbolLayouts.findIndex((layout) => layout.bits >= bits), 0]];
  const planes = Math.ceil(bits / 8);
  return planes <= 4 ? [[4, bits - 8], [3 + planes, 0]] : [[4, bits - 8]]; // biome-ignore format: pairs
}

/** The units of a frame; a patch is replaced by the unit before it, which compresses best. */
function unitsOf(numbers: Float64Array, { base, factor, bits }: SeriesFrame): Float64Array {
  const units = scratch.take(numbers.length);
  const end = 2 ** bits;
  let before = 0;
  for (let i = 0; i < units.length; i++) {
    const unit = (numbers[i]! - base) / factor;
    if (unit >= 0 && unit < end) before = unit;
    units[i] = before;
  }
  return units;
}

function writeLayout(out: ByteWriter, { differences, frame, code, rawBits, symbols }: Layout): void {
  const { order, heads, numbers } = differences;
  const hasFactor = frame.factor !== 1 && frame.bits + frame.patches > 0;
  const flags = (hasFactor ? 4 : 0) | (frame.patches > 0 ? 8 : 0) | (rawBits > 0 ? 128 : 0);
  out.byte(order | flags | (code << 4));
  for (const head of heads) out.signedVarint(head);
  if (numbers.length === 0) return;
  out.signedVarint(frame.base);
  if (hasFactor) out.varint(frame.factor);
  if (rawBits > 0) out.byte(rawBits);
  if (symbols !== undefined) {
    out.varint(symbols.length);
    out.bytes(symbols);
  }
  if (rawBits > 0) packBits(unitsOf(numbers, frame), rawBits, out.reserve(packedBytes(numbers.length, rawBits)));
  if (frame.patches > 0) writePatches(out, numbers, frame);
}

function writePatches(out: ByteWriter, numbers: Float64Array, { base, factor, bits, patches }: SeriesFrame): void {
  out.varint(patches);
  const end = 2 ** bits;
  let after = 0;
  for (let i = 0; i < numbers.length; i++) {
    const unit = (numbers[i]! - base) / factor;
    if (unit >= 0 && unit < end) continue;
    out.varint(i - after);
    out.signedVarint(unit);
    after = i + 1;
  }
}
