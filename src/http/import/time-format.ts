// How times are written in a file that is imported: RFC 3339, seconds or milliseconds since 1970, or a pattern such as
// `D.M.YYYY H:mm`; and which of these a few of them are written in. Called by import-plan.ts.
import { limits } from '../../config/limits.ts';

/** A time as it is written: what a clock showed, and by how much that clock was ahead of UTC, where that is said. */
export interface WrittenTime {
  /** As if it were UTC, milliseconds since 1970. */
  readonly wallMs: number;
  readonly offsetMs: number | undefined;
}

export interface TimeFormat {
  /** As it is asked for: `iso`, `s`, `ms`, or the pattern. */
  readonly name: string;
  /** Undefined for what is not written so. */
  parse(text: string): WrittenTime | undefined;
}

export const timeFormatRule =
  'is iso, s or ms (since 1970), or a pattern of YYYY YY MM M MMM DD D HH H hh h mm m ss s SSS A Z with [] around what may be missing, such as D.M.YYYY[ H:mm[:ss]]';

/** The format of this name; undefined where it is none. */
export function findTimeFormat(name: string): TimeFormat | undefined {
  if (name === 'iso') return iso;
  if (name === 's') return epoch('s', 1000);
  if (name === 'ms') return epoch('ms', 1);
  return name.length > limits.timeFormatCharsMax ? undefined : patternFormat(name);
}

function epoch(name: string, unitMs: number, pattern = /^-?\d{1,15}([.,]\d+)?$/): TimeFormat {
  return {
    name,
    parse: (text) => {
      if (!pattern.test(text)) return undefined;
      return { wallMs: Math.round(Number(text.replace(',', '.')) * unitMs), offsetMs: 0 };
    },
  };
}

function withTime(dates: readonly string[]): TimeFormat[] {
  return formatsOf(dates.flatMap((date) => [`${date}[ H:mm[:ss[.SSS]]]`, `${date} h:mm[:ss][ ]A`]));
}

function formatsOf(names: readonly string[]): TimeFormat[] {
  return names.map(findTimeFormat).filter((format) => format !== undefined);
}

/** The format in which most of these are written, and whether another would do as well that swaps day and month. */
export function recogniseTimes(
  texts: readonly string[],
): { readonly format: TimeFormat; readonly isDoubtful: boolean } | undefined {
  let best: { readonly format: TimeFormat; readonly isDoubtful: boolean } | undefined;
  // Half of them at least: units below a header, and words for a missing time, are no times.
  let most = Math.ceil(texts.length / 2) - 0.5;
  for (const formats of recognised) {
    const counts = formats.map((format) => texts.filter((text) => format.parse(text) !== undefined).length);
    const count = Math.max(...counts);
    if (count <= most) continue;
    const [format] = formats.filter((_, n) => counts[n] === count);
    most = count;
    if (format !== undefined) best = { format, isDoubtful: counts.filter((other) => other === count).length > 1 };
    if (count === texts.length) break;
  }
  return best;
}

/** True for a clock without a date, such as 13:05 or 1:05:30 PM. */
export function isClock(text: string): boolean {
  return /^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?$/i.test(text);
}

/** What a token of a pattern matches. */
const tokens: Readonly<Record<string, string>> = {
  YYYY: '(\\d{4})',
  YY: '(\\d{2})',
  MMM: '(\\p{L}{3,9})\\.?',
  MM: '(\\d{2})',
  M: '(\\d{1,2})',
  DD: '(\\d{2})',
  D: '(\\d{1,2})',
  HH: '(\\d{2})',
  H: '(\\d{1,2})',
  hh: '(\\d{2})',
  h: '(\\d{1,2})',
  mm: '(\\d{2})',
  m: '(\\d{1,2})',
  ss: '(\\d{2})',
  s: '(\\d{1,2})',
  SSS: '(\\d{1,9})',
  A: '([AaPp]\\.?[Mm]\\.?)',
  Z: ' ?([Zz]|[+-]\\d{2}(?::?\\d{2})?)',
};

const pieces = /YYYY|YY|MMM|MM|M|DD|D|HH|H|hh|h|mm|m|ss|s|SSS|A|Z|\[|\]|[^A-Za-z[\]]|T/gy;

function patternFormat(name: string): TimeFormat | undefined {
  const found = name.match(pieces) ?? [];
  if (found.join('') !== name || !/M/.test(name) || !/D/.test(name) || !/Y/.test(name)) return undefined;
  const fields = found.filter((piece) => Object.hasOwn(tokens, piece));
  const source = found.map((piece, place) => sourceOf(piece, found[place + 1])).join('');
  let pattern: RegExp;
  try {
    pattern = new RegExp(`^${source}$`, 'u');
  } catch {
    // Brackets that do not match.
    return undefined;
  }
  return {
    name,
    parse: (text) => {
      const match = pattern.exec(text);
      return match === null ? undefined : toTime(fields, match.slice(1));
    },
  };
}

function sourceOf(piece: string, next: string | undefined): string {
  if (piece === '[') return '(?:';
  if (piece === ']') return ')?';
  if (piece === ' ') return '[ T,]{1,3}';
  // Seconds have a comma in some countries, as numbers do.
  if (piece === '.' && next === 'SSS') return '[.,]';
  return tokens[piece] ?? piece.replace(/[^A-Za-z0-9]/g, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function toTime(fields: readonly string[], values: readonly (string | undefined)[]): WrittenTime | undefined {
  const of = (...names: readonly string[]) => values[fields.findIndex((field) => names.includes(field))];
  const monthName = of('MMM')?.slice(0, 3).toLowerCase();
  const month = monthName === undefined ? Number(of('MM', 'M')) : months.indexOf(monthName) + 1;
  const hour = hourOf(Number(of('HH', 'H') ?? of('hh', 'h') ?? 0), of('A')?.toLowerCase());
  const minute = Number(of('mm', 'm') ?? 0);
  const second = Number(of('ss', 's') ?? 0);
  const ms = Number((of('SSS') ?? '').padEnd(3, '0').slice(0, 3));
  const day = Number(of('DD', 'D'));
  if (hour === undefined || minute > 59 || second > 60 || month < 1 || month > 12 || day < 1) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(yearOf(of('YYYY'), of('YY')), month - 1, day);
  // A day that the month does not have leads into the next one.
  if (date.getUTCMonth() !== month - 1) return undefined;
  return { wallMs: date.setUTCHours(hour, minute, second, ms), offsetMs: offsetOf(of('Z')) };
}

function yearOf(long: string | undefined, short: string | undefined): number {
  if (long !== undefined) return Number(long);
  return Number(short) + (Number(short) < 70 ? 2000 : 1900);
}

function hourOf(hour: number, half: string | undefined): number | undefined {
  if (half === undefined) return hour > 23 ? undefined : hour;
  if (hour < 1 || hour > 12) return undefined;
  return (hour % 12) + (half.startsWith('p') ? 12 : 0);
}

function offsetOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const parts = /^([+-])(\d{2}):?(\d{2})?$/.exec(text);
  if (parts === null) return 0;
  return (parts[1] === '-' ? -1 : 1) * (Number(parts[2]) * 60 + Number(parts[3] ?? 0)) * 60_000;
}

const isoPattern = patternFormat('YYYY-MM-DD[ HH:mm[:ss[.SSS]][Z]]');
const iso: TimeFormat = {
  name: 'iso',
  parse: (text) => isoPattern?.parse(text.replace(/^(\d{4}-\d{2}-\d{2})[Tt]/, '$1 ')),
};

/** Formats that are recognised, in groups; first those that leave least doubt, and the day before the month. */
const recognised: readonly (readonly TimeFormat[])[] = [
  [iso],
  [epoch('s', 1000, /^\d{9,10}([.,]\d+)?$/)],
  [epoch('ms', 1, /^\d{12,13}$/)],
  ...['YYYY/M/D', 'D.M.YYYY', 'D.M.YY'].map((date) => withTime([date])),
  ...[['D/M/YYYY', 'M/D/YYYY'], ['D-M-YYYY', 'M-D-YYYY'], ['D/M/YY', 'M/D/YY']].map(withTime), // biome-ignore format: a table
  ...['D-MMM-YYYY', 'D MMM YYYY', 'MMM D YYYY', 'D-MMM-YY'].map((date) => withTime([date])),
  formatsOf(['YYYYMMDD[HHmm[ss]]']),
];
