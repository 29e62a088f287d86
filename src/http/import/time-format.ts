// Formats of times in imported files: RFC 3339, seconds or milliseconds since 1970, or a pattern such as `D.M.YYYY
// H:mm`; and recognition of the format from examples. Called by import-plan.ts.
import { limits } from '../../config/limits.ts';
import { parseTimePattern, type TimeFields } from './time-pattern.ts';

/** A parsed time: the wall clock, and its offset from UTC where given. */
export interface ParsedTime {
  /** The wall clock as if it were UTC, in milliseconds since 1970. */
  readonly wallMs: number;
  readonly offsetMs: number | undefined;
}

export interface TimeFormat {
  /** As requested: `iso`, `s`, `ms`, or the pattern. */
  readonly name: string;
  /** Undefined for a text in another format. */
  parse(text: string): ParsedTime | undefined;
}

/** The format of this name. @throws Refusal `malformed` for an unknown one. */
export function parseTimeFormat(name: string): TimeFormat {
  if (name === 'iso') return iso;
  if (name === 's') return epoch('s', 1000);
  if (name === 'ms') return epoch('ms', 1);
  return patternFormat(name);
}

function epoch(name: string, unitMs: number, pattern = /^-?\d{1,15}([.,]\d+)?$/): TimeFormat {
  return {
    name,
    parse: (text) => {
      if (text.length > limits.timeCharsMax || !pattern.test(text)) return undefined;
      return { wallMs: Math.round(Number(text.replace(',', '.')) * unitMs), offsetMs: 0 };
    },
  };
}

function withTime(dates: readonly string[]): TimeFormat[] {
  return formatsOf(dates.flatMap((date) => [`${date}[ H:mm[:ss[.SSS]]]`, `${date} h:mm[:ss][ ]A`]));
}

function formatsOf(names: readonly string[]): TimeFormat[] {
  return names.map(parseTimeFormat);
}

/** The format that fits most of the texts, and whether one with day and month swapped fits as well. */
export function recogniseTimes(
  texts: readonly string[],
): { readonly format: TimeFormat; readonly isDoubtful: boolean } | undefined {
  let best: { readonly format: TimeFormat; readonly isDoubtful: boolean } | undefined;
  // At least half must fit: units below a header, and words for a missing time, do not.
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

/** True for a time of day, such as 13:05 or 1:05:30 PM. */
export function isClock(text: string): boolean {
  return /^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?$/i.test(text);
}

/** The format of a pattern. @throws Refusal `malformed` for an invalid or ambiguous one. */
function patternFormat(name: string): TimeFormat {
  const pattern = parseTimePattern(name);
  return {
    name,
    parse: (text) => {
      const values = pattern.match(text);
      return values === undefined ? undefined : toTime(values);
    },
  };
}

/** As loggers write them in English, French, Spanish, Portuguese and German; without accents the first letters tell which. */
const months = new Map(
  [
    ['jan', 'ene'],
    ['feb', 'fev'],
    ['mar'],
    ['apr', 'avr', 'abr'],
    ['may', 'mai'],
    ['jun', 'juin'],
    ['jul', 'juil'],
    ['aug', 'aou', 'ago'],
    ['sep', 'set'],
    ['oct', 'okt', 'out'],
    ['nov'],
    ['dec', 'dic', 'dez'],
  ].flatMap((names, place) => names.map((name) => [name, place + 1] as const)),
);

/** Zero for a word that is none. */
function monthOf(written: string): number {
  const plain = written
    .normalize('NFD')
    .replaceAll(/[^a-z]/gi, '')
    .toLowerCase();
  return months.get(plain.slice(0, 4)) ?? months.get(plain.slice(0, 3)) ?? 0;
}

function toTime(written: TimeFields): ParsedTime | undefined {
  const { monthName } = written;
  const month = monthName === undefined ? Number(written.month) : monthOf(monthName);
  const hour = hourOf(Number(written.hour ?? 0), written.half?.toLowerCase());
  const minute = Number(written.minute ?? 0);
  const second = Number(written.second ?? 0);
  const ms = Number((written.fraction ?? '').padEnd(3, '0').slice(0, 3));
  const day = Number(written.day);
  if (hour === undefined || minute > 59 || second > 60 || month < 1 || month > 12 || day < 1) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(yearOf(written.year ?? ''), month - 1, day);
  // Date.UTC moves a day beyond the month's end into the next month.
  if (date.getUTCMonth() !== month - 1) return undefined;
  return { wallMs: date.setUTCHours(hour, minute, second, ms), offsetMs: offsetOf(written.offset) };
}

/** Two digits are a year from 1970 to 2069. */
function yearOf(text: string): number {
  const year = Number(text);
  if (text.length !== 2) return year;
  return year + (year < 70 ? 2000 : 1900);
}

function hourOf(hour: number, half: string | undefined): number | undefined {
  if (half === undefined) return hour > 23 ? undefined : hour;
  if (hour < 1 || hour > 12) return undefined;
  return (hour % 12) + (half.startsWith('p') ? 12 : 0);
}

function offsetOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const parts = /^([+-])(\d{2}):?(\d{2})?$/.exec(text.trimStart());
  if (parts === null) return 0;
  return (parts[1] === '-' ? -1 : 1) * (Number(parts[2]) * 60 + Number(parts[3] ?? 0)) * 60_000;
}

const isoPattern = patternFormat('YYYY-MM-DD[ HH:mm[:ss[.SSS]][Z]]');
const iso: TimeFormat = {
  name: 'iso',
  // RFC 3339 allows a lower-case t; a pattern's blank matches T only.
  parse: (text) => isoPattern.parse(text[10] === 't' ? `${text.slice(0, 10)} ${text.slice(11)}` : text),
};

/** The formats to try, in groups: the least ambiguous first, and day before month. */
const recognised: readonly (readonly TimeFormat[])[] = [
  [iso],
  [epoch('s', 1000, /^\d{9,10}([.,]\d+)?$/)],
  [epoch('ms', 1, /^\d{12,13}$/)],
  ...['YYYY/M/D', 'D.M.YYYY', 'D.M.YY'].map((date) => withTime([date])),
  ...[['D/M/YYYY', 'M/D/YYYY'], ['D-M-YYYY', 'M-D-YYYY'], ['D/M/YY', 'M/D/YY']].map(withTime), // biome-ignore format: a table
  ...['D-MMM-YYYY', 'D MMM YYYY', 'MMM D YYYY', 'D-MMM-YY'].map((date) => withTime([date])),
  formatsOf(['YYYYMMDD[HHmm[ss]]']),
];
