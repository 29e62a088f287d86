// Converts rows of a file to datapoints by the plan: one for each row with a value column, otherwise one for each
// sensor column. A faulty value is reported with its line and does not affect others. Called by import-run.ts.

import { Refusal } from '../../base/refusal.ts';
import type { Json } from '../../base/text/json.ts';
import type { ImportLine } from '../../domain/datapoints/import/import-line.ts';
import { parseValue } from '../../domain/datapoints/ingest/reading.ts';
import { idRule, isId } from '../schemas/ids.ts';
import type { Column } from './columns.ts';
import { type ImportPlan, textOf } from './import-plan.ts';
import type { ImportQuery } from './import-query.ts';
import type { ImportReport } from './import-report.ts';
import type { Row } from './rows.ts';
import { parseTimeFormat } from './time-format.ts';
import { parseValueText, quoted, saidOf, shortened } from './value-texts.ts';

const iso = parseTimeFormat('iso');

/** The fields of a row that apply to all of its values. */
interface RowOrigin {
  readonly device: string;
  readonly timestampMs: number;
  readonly receivedMs: number | undefined;
}

export class LineReader {
  readonly #plan: ImportPlan;
  readonly #query: ImportQuery;
  readonly #report: ImportReport;
  #columns: readonly Column[] = [];
  /** Position of columns by role. */
  #places = new Map<string, number>();
  #sensors: readonly (Column & { readonly role: { readonly device: string | undefined; readonly sensor: string } })[] =
    [];

  constructor(plan: ImportPlan, query: ImportQuery, report: ImportReport) {
    this.#plan = plan;
    this.#query = query;
    this.#report = report;
  }

  /** The datapoints of a row. */
  read(row: Row): ImportLine[] {
    this.#lookAtColumns();
    try {
      if (row.fault !== undefined) throw new Refusal('malformed', row.fault.detail, { said: row.fault.said });
      const count = this.#columns.length;
      if (row.cells.length > count) {
        const said = { code: 'fields', params: { fields: row.cells.length, columns: count } };
        throw new Refusal('malformed', `The line has ${row.cells.length} fields, and there are ${count} columns.`, {
          said,
        });
      }
      return this.#places.has('value') ? this.#readLong(row) : this.#readWide(row);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#report.refuse({ line: row.line, column: undefined, detail: error.message, said: saidOf(error) });
      return [];
    }
  }

  #lookAtColumns(): void {
    const columns = this.#plan.columns();
    if (columns === this.#columns) return;
    this.#columns = columns;
    this.#places = new Map();
    for (const { role, number } of columns) {
      if (typeof role === 'string' && !this.#places.has(role)) this.#places.set(role, number - 1);
    }
    this.#sensors = columns.filter(({ role }) => typeof role !== 'string') as never;
  }

  #readLong(row: Row): ImportLine[] {
    const place = this.#places.get('value') as number;
    const value = this.#valueAt(row, this.#columns[place] as Column, { isNullValue: true });
    if (value === undefined) return [];
    const sensor = this.#idOf('sensor', row, this.#query.sensor);
    const origin = this.#headOf(row, sensor);
    const unit = this.#textAt(row, 'unit') || undefined;
    return [this.#toLine(row, origin, { sensor, value, column: undefined, name: undefined, unit })];
  }

  #readWide(row: Row): ImportLine[] {
    const lines: ImportLine[] = [];
    let origin: RowOrigin | undefined;
    for (const column of this.#sensors) {
      const value = this.#unlessRefused(row, column, () => this.#valueAt(row, column, { isNullValue: false }));
      if (value === undefined) continue;
      // Without a valid time the whole row is refused.
      origin ??= this.#headOf(row, '');
      const { device = origin.device, sensor } = column.role;
      const words = { column: column.number, name: column.name, unit: column.unit };
      const at = { ...origin, device };
      const line = this.#unlessRefused(row, column, () => this.#toLine(row, at, { sensor, value, ...words }));
      if (line !== undefined) lines.push(line);
    }
    return lines;
  }

  #unlessRefused<T>({ line }: Row, { number }: Column, read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#report.refuse({ line, column: number, detail: error.message, said: saidOf(error) });
      return undefined;
    }
  }

  #toLine(
    { line }: Row,
    { device, timestampMs, receivedMs }: RowOrigin,
    { value, ...words }: Pick<ImportLine, 'sensor' | 'column' | 'name' | 'unit'> & { readonly value: Json },
  ): ImportLine {
    const reading = { value: parseValue(value, '/value'), timestampMs };
    return { line, device, reading, receivedMs, ...words };
  }

  #headOf(row: Row, series: string): RowOrigin {
    const device = this.#places.has('device') || this.#query.device !== undefined ? this.#idOf('device', row, this.#query.device) : ''; // biome-ignore format: one line
    const receivedMs = this.#query.received === 'keep' ? this.#receivedAt(row) : undefined;
    const text = ['timestamp', 'date', 'time'].map((role) => this.#textAt(row, role)).join(' ').trim(); // biome-ignore format: one line
    if (text === '' && receivedMs !== undefined) return { device, receivedMs, timestampMs: Number.NaN };
    if (text === '') throw new Refusal('malformed', 'The line has no time.', { said: { code: 'no-time' } });
    const { timeFormat, times } = this.#plan;
    const time = timeFormat?.parse(text);
    if (time === undefined) {
      const said = { code: 'time-format', params: { text: shortened(text), format: timeFormat?.name ?? '' } };
      throw new Refusal('malformed', `${quoted(text)} is no time as ${timeFormat?.name ?? 'any that is known'}.`, {
        said,
      });
    }
    return { device, receivedMs, timestampMs: times.toUtc(time, `${device}\n${series}`) };
  }

  #receivedAt(row: Row): number | undefined {
    const text = this.#textAt(row, 'received');
    if (text === '') return undefined;
    const time = iso.parse(text);
    if (time === undefined) {
      const said = { code: 'time-format', params: { text: shortened(text), format: '2016-06-08T18:20:27Z' } };
      throw new Refusal('malformed', `${quoted(text)} is no time such as 2016-06-08T18:20:27Z.`, { said });
    }
    return time.wallMs - (time.offsetMs ?? 0);
  }

  #idOf(role: 'device' | 'sensor', row: Row, fallback: string | undefined): string {
    const id = this.#textAt(row, role) || fallback || '';
    if (isId(id)) return id;
    if (id === '') throw new Refusal('malformed', `The line names no ${role}.`, { said: { code: `no-${role}` } });
    const said = { code: 'id', params: { text: shortened(id) } };
    throw new Refusal('malformed', `The ${role} ${quoted(id)} ${idRule}.`, { said });
  }

  #textAt(row: Row, role: string): string {
    const place = this.#places.get(role);
    const cell = place === undefined ? undefined : row.cells[place];
    return cell === null ? '' : textOf(cell);
  }

  /** The value, or undefined where there is none; JSON `null` is a value only in a value column. */
  #valueAt(row: Row, column: Column, { isNullValue }: { readonly isNullValue: boolean }): Json | undefined {
    const cell = row.cells[column.number - 1];
    const isText = this.#plan.kind === 'csv' && typeof cell === 'string';
    const json = cell === null && !isNullValue ? undefined : cell;
    const value = isText ? parseValueText(cell, this.#plan.values) : json;
    this.#report.countValue(column.number, value);
    return value;
  }
}
