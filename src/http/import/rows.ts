// Splits an imported text that comes in pieces into rows: CSV records, NDJSON objects, or objects of a JSON array.
// Called by import-run.ts; holds at most one line.

import { Refusal, type Said } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import { parseExactJsonText } from '../../base/text/json-text.ts';
import { limits } from '../../config/limits.ts';
import { type CsvDialect, delimiters, skipLines } from './csv-dialect.ts';
import { CsvReader } from './csv-records.ts';

export interface Row {
  /** From 1. */
  readonly line: number;
  /** The line after it: a field may contain line breaks. */
  readonly nextLine: number;
  /** By the column's position: a CSV field or any JSON; undefined where there is none. */
  readonly cells: readonly (Json | undefined)[];
  /** The fault of the row, as a sentence and by its code. */
  readonly fault?: { readonly detail: string; readonly said: Said };
}

export interface RowReader {
  /** The complete rows so far, and at the end the remaining one. */
  read(piece: string, options: { readonly isEnd: boolean }): Iterable<Row>;
}

/** @param line the number of the first line after the header. */
export function csvRows(dialect: CsvDialect, { line }: { readonly line?: number | undefined }): RowReader {
  const { delimiter, skip, hasHeader } = dialect;
  const form = {
    delimiter: delimiters[delimiter],
    fieldsMax: limits.importColumnsMax,
    charsMax: limits.importLineCharsMax,
  };
  const reader = new CsvReader(form, { line: 1 + skip });
  let isSkipped = false;
  let isHeaderDue = hasHeader;
  /** Added to line numbers, so that a part of a file has those of the whole file. */
  let shift = 0;
  return {
    *read(piece, options) {
      const text = isSkipped ? piece : skipLines(piece, skip);
      isSkipped = true;
      for (const record of reader.read(text, options)) {
        // The piece is short, so its empty lines need no steps of their own.
        if (record === undefined) continue;
        const { line: at, fields, fault } = record;
        if (isHeaderDue) {
          isHeaderDue = false;
          if (line !== undefined) shift = line - reader.nextLine;
          continue;
        }
        if (line !== undefined && !hasHeader) shift = line - skip - 1;
        const row = { line: at + shift, nextLine: Math.max(at + 1, reader.nextLine) + shift, cells: fields };
        yield fault === undefined ? row : { ...row, fault: { detail: `The line ${fault}.`, said: csvSaid(fault) } };
      }
    },
  };
}

/** Keys of objects as columns, in the order of their first occurrence. */
export class KeyColumns {
  readonly names: string[] = [];
  /** Keys of all objects so far, which tell how long these took. */
  keysRead = 0;
  readonly #places = new Map<string, number>();

  /** @throws Refusal `malformed` for what is no object. */
  cellsOf(item: Json): (Json | undefined)[] {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) {
      const detail = 'A line is an object, such as {"device_id": "field-3", "sensor_id": "TC", …}.';
      throw new Refusal('malformed', detail, { said: { code: 'no-object' } });
    }
    const keys = Object.keys(item);
    this.keysRead += keys.length;
    if (keys.length > limits.importColumnsMax) throw tooManyKeys();
    const cells: (Json | undefined)[] = [];
    for (const key of keys) cells[this.#placeOf(key)] = (item as { readonly [key: string]: Json })[key];
    return cells;
  }

  #placeOf(key: string): number {
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    if (key.length > limits.importKeyCharsMax) {
      const said = { code: 'key-long', params: { max: limits.importKeyCharsMax } };
      throw new Refusal('too-large', `The line has a key of more than ${limits.importKeyCharsMax} characters.`, {
        said,
      });
    }
    if (this.names.length >= limits.importColumnsMax) throw tooManyKeys();
    this.#places.set(key, this.names.length);
    return this.names.push(key) - 1;
  }
}

function tooManyKeys(): Refusal {
  const said = { code: 'many-keys', params: { max: limits.importColumnsMax } };
  return new Refusal('too-large', `The file has more than ${limits.importColumnsMax} keys.`, { said });
}

/** @param line the number of the first line. */
export function ndjsonRows(keys: KeyColumns, { line: first }: { readonly line?: number | undefined }): RowReader {
  let rest = '';
  let line = first ?? 1;
  let isSkipping = false;
  return {
    *read(piece, { isEnd }) {
      const lines = (rest + piece).split('\n');
      rest = isEnd ? '' : (lines.pop() ?? '');
      for (const text of lines) {
        if (!isSkipping && text.trim() !== '') yield toRow(line, keys, () => parseLine(text));
        isSkipping = false;
        line += 1;
      }
      if (rest.length <= limits.importLineCharsMax) return;
      if (!isSkipping) yield { line, nextLine: line + 1, cells: [], fault: { detail: tooLong, said: lineLong } };
      isSkipping = true;
      rest = '';
    },
  };
}

/** Ignores the text: the array was parsed as a whole. */
export function arrayRows(keys: KeyColumns, items: readonly Json[]): RowReader {
  return {
    *read(_piece, { isEnd }) {
      if (!isEnd) return;
      for (const [index, item] of items.entries()) yield toRow(index + 1, keys, () => item);
    },
  };
}

const tooLong = `The line is longer than ${limits.importLineCharsMax} characters.`;
const lineLong: Said = { code: 'line-long', params: { max: limits.importLineCharsMax } };

/** A fault of csv-records.ts: nearly all are about quotes. */
function csvSaid(fault: string): Said {
  return fault.startsWith('has more than')
    ? { code: 'many-fields', params: { max: limits.importColumnsMax } }
    : { code: 'quotes' };
}

function parseLine(text: string): Json {
  if (text.length > limits.importLineCharsMax) throw new Refusal('too-large', tooLong, { said: lineLong });
  return parseExactJsonText(Buffer.from(text), limits.nestingLevelsMax);
}

function toRow(line: number, keys: KeyColumns, parse: () => Json): Row {
  try {
    return { line, nextLine: line + 1, cells: keys.cellsOf(parse()) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return {
      line,
      nextLine: line + 1,
      cells: [],
      fault: { detail: error.message, said: error.said ?? { code: 'no-json' } },
    };
  }
}
