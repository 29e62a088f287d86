// The output of `dundun import`: the detected format, refused lines, and the result. On standard error, except for the
// summary.
import { limits } from '../config/limits.ts';

/** The answer of the service (`POST /api/v2/import`), as far as it is shown. */
export interface ImportAnswer {
  readonly dry_run: boolean;
  readonly lines: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly missing: number;
  readonly refused_count: number;
  readonly refused: readonly { readonly line: number; readonly column?: number; readonly detail: string }[];
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly created: readonly { readonly device_id: string; readonly sensor_id: string }[];
  readonly stopped?: { readonly line: number; readonly detail: string };
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  readonly file: {
    readonly format: string;
    readonly delimiter?: string;
    readonly decimal?: string;
    readonly time_format?: string;
    readonly timezone: string;
    readonly columns: readonly {
      readonly column: number;
      readonly name?: string;
      readonly role: string;
      readonly examples: readonly string[];
    }[];
  };
  readonly samples?: readonly {
    readonly device_id?: string;
    readonly sensor_id: string;
    readonly value: unknown;
    readonly timestamp?: string;
  }[];
  readonly next: { readonly head_lines: number; readonly line: number; readonly [parameter: string]: unknown };
}

export function printUnderstood({ file, samples, notes, problems }: ImportAnswer): void {
  const { format, delimiter, decimal, time_format: times, timezone, columns } = file;
  const form = delimiter === undefined ? '' : `, delimiter ${delimiter}, decimal ${decimal}`;
  console.error(`${format}${form}, times ${times ?? 'unknown'}, time zone ${timezone}`);
  for (const { column, name, role, examples } of columns) {
    const example = examples.find((text) => text !== '') ?? '';
    console.error(
      `  ${String(column).padStart(3)}  ${short(name ?? '', 28)}  → ${short(role, 28)}  ${short(example, 30)}`,
    );
  }
  for (const note of notes) console.error(`note: ${printable(note)}`);
  for (const problem of problems) console.error(`missing: ${printable(problem)}`);
  for (const { device_id, sensor_id, value, timestamp } of samples?.slice(0, 10) ?? []) {
    console.error(
      `  ${timestamp ?? '(no time)'}  ${device_id ?? '?'}/${sensor_id}  ${short(JSON.stringify(value), 50)}`,
    );
  }
}

/** Prints refused lines up to a bound; returns how many were printed so far. */
export function printRefused({ refused }: ImportAnswer, shown: number): number {
  const now = refused.slice(0, Math.max(0, limits.refusedShownMax - shown));
  for (const { line, column, detail } of now) {
    console.error(`line ${line}${column === undefined ? '' : `, column ${column}`}: ${printable(detail)}`);
  }
  return shown + now.length;
}

export function printSummary(
  total: ImportAnswer,
  { file, shown }: { readonly file: string; readonly shown: number },
): void {
  const { refused_count: refused, accepted, duplicates, missing, created, stopped } = total;
  if (refused > shown) console.error(`… and ${refused - shown} more`);
  const verb = total.dry_run ? 'would be stored' : 'stored';
  const also = [
    ...(duplicates > 0 ? [`${duplicates} there already`] : []),
    ...(missing > 0 ? [`${missing} empty`] : []),
    `${refused} refused`,
  ];
  const span = total.from === undefined ? '' : `, from ${total.from} to ${total.to}`;
  console.log(`${printable(file)}: ${total.lines} lines, ${accepted} datapoints ${verb}, ${also.join(', ')}${span}.`);
  const made = created.map(({ device_id, sensor_id }) => `${device_id}/${sensor_id}`);
  if (made.length > 0) console.log(`Sensors ${total.dry_run ? 'to be made' : 'made'}: ${made.join(', ')}.`);
  if (stopped === undefined) return;
  console.error(`dundun: stopped before line ${stopped.line}: ${printable(stopped.detail)}`);
  console.error('What came before it is stored. Run it again with --skip-duplicates to bring in the rest.');
}

/** Replaces control characters: text from a file must not move the terminal's cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
}

function short(text: string, chars: number): string {
  const plain = printable(text);
  return (plain.length > chars ? `${plain.slice(0, chars - 1)}…` : plain).padEnd(chars);
}
