// The type of a setting, and parsers of its text. Each parser throws an Error that says what would be right.
import { isIP } from 'node:net';

export interface Setting<T> {
  readonly env: string;
  readonly fallback: string;
  readonly reason: string;
  readonly secret?: boolean;
  /** Converts the text to the value; throws an Error that says what would be right. */
  readonly parse: (text: string) => T;
}

export function port(value: string): number {
  return integerBetween(0, 65_535)(value);
}

export function integerBetween(min: number, max: number): (value: string) => number {
  return (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max)
      throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  };
}

export function oneOf<const T extends string>(...allowed: readonly T[]): (value: string) => T {
  return (value) => {
    const found = allowed.find((candidate) => candidate === value);
    if (found === undefined) throw new Error(`must be one of ${allowed.join(', ')}`);
    return found;
  };
}

export function onOff(value: string): boolean {
  return oneOf('on', 'off')(value) === 'on';
}

export function text(value: string): string {
  return value;
}

export function nonEmpty(value: string): string {
  if (value.trim() === '') throw new Error('must not be empty');
  return value;
}

/** Empty: undefined; otherwise as `parse` reads it. */
export function optional<T>(parse: (value: string) => T): (value: string) => T | undefined {
  return (value) => (value === '' ? undefined : parse(value));
}

/** `off`: undefined; otherwise as `parse` reads it. */
export function orOff<T>(parse: (value: string) => T): (value: string) => T | undefined {
  return (value) => {
    if (value === 'off') return undefined;
    try {
      return parse(value);
    } catch (error) {
      throw new Error(`${(error as Error).message}, or off`);
    }
  };
}

/** A size: bytes, or with a unit, decimal (20GB) or binary (20GiB). */
export function bytesFrom(min: number): (value: string) => number {
  return (value) => {
    const [, number, unit = 'B'] = /^(\d+(?:\.\d+)?) ?([KMGT]i?B|B)?$/i.exec(value) ?? [];
    const bytes = Math.floor(Number(number) * (byteUnits[unit.toLowerCase()] ?? Number.NaN));
    if (!(bytes >= min && bytes <= Number.MAX_SAFE_INTEGER))
      throw new Error(`must be a size such as 500MB or 20GB, ${Math.ceil(min / 1e6)}MB or more`);
    return bytes;
  };
}

/** A duration with its unit (30d, 12h, 90m, 45s), in milliseconds; `off`: undefined. */
export function durationOrOff(value: string): number | undefined {
  if (value === 'off') return undefined;
  const [, number, unit = ''] = /^(\d{1,6})([dhms])$/.exec(value) ?? [];
  const ms = Number(number) * (durationUnits[unit] ?? Number.NaN);
  if (!(ms > 0)) throw new Error('must be a length of time such as 30d, 12h or 90m, or off');
  return ms;
}

/** A length of time of at most so many hours, or off. */
export function durationUpToHours(hoursMax: number): (value: string) => number | undefined {
  return (value) => {
    const ms = durationOrOff(value);
    if (ms !== undefined && ms > hoursMax * 3_600_000) throw new Error(`must be at most ${hoursMax}h, or off`);
    return ms;
  };
}

const durationUnits: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 };

const byteUnits: Readonly<Record<string, number>> = {
  b: 1,
  ...{ kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12 },
  ...{ kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 },
};

function list(value: string): readonly string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

export function networks(value: string): readonly string[] {
  const bad = list(value).filter((item) => !isNetwork(item));
  if (bad.length > 0) throw new Error(`must hold addresses or networks such as 10.0.0.0/8, not ${bad.join(', ')}`);
  return list(value);
}

function isNetwork(item: string): boolean {
  const [address = '', prefix, ...rest] = item.split('/');
  const bits = isIP(address) === 6 ? 128 : 32;
  const whole = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
  return isIP(address) !== 0 && whole && rest.length === 0;
}

export function origins(value: string): readonly string[] {
  const all = list(value);
  const wrong = all.find((origin) => origin !== '*' && !(URL.canParse(origin) && new URL(origin).origin === origin));
  if (wrong !== undefined)
    throw new Error(`must be * or origins such as https://farm.example, and ${JSON.stringify(wrong)} is none`);
  return all;
}

/** Removes trailing slashes. */
export function withoutSlashes(address: string): string {
  let end = address.length;
  while (address[end - 1] === '/') end -= 1;
  return address.slice(0, end);
}

export function url(value: string): string {
  if (value !== '' && !URL.canParse(value)) throw new Error('must be an address such as https://dundun.example');
  return withoutSlashes(value);
}

export function httpUrl(value: string): string {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    throw new Error('must be an address such as http://collector:4318/v1/traces');
  return value;
}

/** Headers of HTTP as name=value, separated by commas; what a value must not contain is written as in addresses (%2C). */
export function headers(value: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    list(value).map((item) => {
      const [name = '', ...rest] = item.split('=');
      const text = rest.join('=');
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\x20-\x7e]*$/.test(text) || rest.length === 0)
        throw new Error('must hold headers as name=value, separated by commas');
      return [name, decoded(text)];
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A number from 0 to 1. */
export function share(value: string): number {
  const number = Number(value);
  if (!/^[\d.]+$/.test(value) || !(number <= 1)) throw new Error('must be a number from 0 to 1');
  return number;
}

export function tileUrl(value: string): string {
  const isAddress = /^https?:/.test(value) && URL.canParse(value.replace(/^(https?:\/\/)\{s\}/, '$1s'));
  const isTemplate = ['{z}', '{x}', '{y}'].every((part) => value.includes(part));
  if (value !== '' && !(isAddress && isTemplate))
    throw new Error('must be an address with {z}, {x} and {y}, such as https://tile.example/{z}/{x}/{y}.png');
  return value;
}
