// Represents doubles as integers with a number of decimals: 21.5 is 215 with one decimal. An integer represents a
// double if dividing it by the power of ten gives the double bit for bit, which holds for every number that was written
// with so few decimals.

import { scratch } from '../bytes/scratch.ts';

export const decimalsMax = 12;

/** Beyond this, doubles are stored as such, so that second differences of integers stay exact. */
const integerMax = 2 ** 49;
const powersOfTen = Array.from({ length: decimalsMax + 1 }, (_, decimals) => 10 ** decimals);
/** Count of numbers by their decimals; the last entry counts those with too many. */
const counts = new Uint32Array(decimalsMax + 2);
const samplesMax = 32;
/** Estimated bytes of a number that is no such integer, of a double, and of one more decimal. */
const oddBytes = 10;
const doubleBytes = 7;
const decimalBytes = 0.42;

interface Scaled {
  readonly decimals: number;
  /** A number that is not representable, and NaN, are replaced by the integer before them. */
  readonly integers: Float64Array;
  /** Indexes of the numbers that are not representable. */
  readonly odd: readonly number[];
}

/** The values as integers, or undefined where doubles take fewer bytes. NaN stands for a text. */
export function scaleToIntegers(values: Float64Array): Scaled | undefined {
  const sampled = sampleDecimals(values);
  if (sampled === undefined) return undefined;
  const decimals = sampled === decimalsMax ? sampled : raiseDecimals(values, sampled);
  const power = powersOfTen[decimals]!;
  const integers = scratch.take(values.length);
  const odd: number[] = [];
  let before = firstInteger(values, power);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    const integer = Math.round(value * power);
    if (isExact(value, integer, power)) before = integer;
    else if (!Number.isNaN(value)) odd.push(i);
    integers[i] = before;
  }
  return odd.length * oddBytes > values.length * doubleBytes ? undefined : { decimals, integers, odd };
}

/** Converts integers back to values, in place. */
export function scaleToValues(integers: Float64Array, decimals: number): void {
  if (decimals === 0) return;
  const power = powersOfTen[decimals]!;
  for (let i = 0; i < integers.length; i++) integers[i]! /= power;
}

// -0 and NaN are represented by no integer.
function isExact(value: number, integer: number, power: number): boolean {
  if (integer === 0) return Object.is(value, 0);
  return integer / power === value && integer <= integerMax && integer >= -integerMax;
}

/** The decimals that suffice for most of a sample; undefined where many need too many. */
function sampleDecimals(values: Float64Array): number | undefined {
  const stride = Math.ceil(values.length / samplesMax);
  counts.fill(0);
  let sampled = 0;
  for (let i = 0; i < values.length; i += stride) {
    if (Number.isNaN(values[i]!)) continue;
    counts[decimalsOf(values[i]!, 0)]! += 1;
    sampled += 1;
  }
  let beyond = counts[decimalsMax + 1]!;
  if (beyond * oddBytes > sampled * doubleBytes) return undefined;
  let decimals = decimalsMax;
  for (; decimals > 0; decimals--) {
    beyond += counts[decimals]!;
    if (beyond * oddBytes > sampled * decimalBytes) break;
  }
  return decimals;
}

/** Adds decimals where that costs less than the numbers that would not be representable. */
function raiseDecimals(values: Float64Array, sampled: number): number {
  const power = powersOfTen[sampled]!;
  counts.fill(0);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (Number.isNaN(value) || isExact(value, Math.round(value * power), power)) continue;
    counts[decimalsOf(value, sampled + 1)]! += 1;
  }
  let decimals = decimalsMax;
  let beyond = 0;
  for (; decimals > sampled; decimals--) {
    beyond += counts[decimals]!;
    if (beyond * oddBytes > values.length * decimalBytes * (decimals - sampled)) break;
  }
  return decimals;
}

function decimalsOf(value: number, from: number): number {
  let decimals = from;
  while (decimals <= decimalsMax) {
    const power = powersOfTen[decimals]!;
    if (isExact(value, Math.round(value * power), power)) break;
    decimals += 1;
  }
  return decimals;
}

function firstInteger(values: Float64Array, power: number): number {
  for (let i = 0; i < values.length; i++) {
    const integer = Math.round(values[i]! * power);
    if (isExact(values[i]!, integer, power)) return integer;
  }
  return 0;
}
