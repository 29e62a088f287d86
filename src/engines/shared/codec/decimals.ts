// Doubles as integers of so many decimals: 21.5 as 215 with one. A double belongs to an integer when dividing by the
// power of ten gives it back bit for bit, which it does for every number that was written with so few decimals.

import { scratch } from './scratch.ts';

export const decimalsMax = 12;

/** Integers beyond this are left to doubles, so that differences of differences stay exact. */
const integerMax = 2 ** 49;
const powersOfTen = Array.from({ length: decimalsMax + 1 }, (_, decimals) => 10 ** decimals);
/** Numbers by their decimals; the last are those that have too many. */
const counts = new Uint32Array(decimalsMax + 2);
const samplesMax = 32;
/** What an odd one and a double cost in bytes, about, and one more decimal. */
const oddBytes = 10;
const doubleBytes = 7;
const decimalBytes = 0.42;

interface Scaled {
  readonly decimals: number;
  /** In the place of an odd one, and of NaN, stands the integer before it. */
  readonly integers: Float64Array;
  /** Indexes of numbers that no integer of these decimals gives back. */
  readonly odd: readonly number[];
}

/** The values as integers, or undefined where doubles are smaller. NaN stands for no number. */
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

/** Makes the values of their integers, in place. */
export function scaleToValues(integers: Float64Array, decimals: number): void {
  if (decimals === 0) return;
  const power = powersOfTen[decimals]!;
  for (let i = 0; i < integers.length; i++) integers[i]! /= power;
}

// No integer stands for -0, and none for NaN.
function isExact(value: number, integer: number, power: number): boolean {
  if (integer === 0) return Object.is(value, 0);
  return integer / power === value && integer <= integerMax && integer >= -integerMax;
}

/** The decimals that most of a sample have; undefined where many have too many. */
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

/** More decimals, where that costs less than the numbers that would be odd with so few. */
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
