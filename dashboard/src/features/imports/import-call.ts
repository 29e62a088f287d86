// What is said of a file, and the one call that sends some of it. Used by the preview and by import-job.ts.
import { ApiProblem } from '../../api/api-problem.ts';
import { fetchWithToken, type Schemas } from '../../api/client.ts';
import { type ChosenFile, contentTypes, type FileKind } from './chosen-file.ts';

export type ImportAnswer = Schemas['ImportAnswer'];

export interface ImportSettings {
  readonly device: string;
  readonly timezone: string;
  /** Empty: as found, as are the three that follow with `auto`. */
  readonly timeFormat: string;
  readonly delimiter: string;
  readonly decimal: string;
  readonly header: string;
  /** Lines before the table, as typed; empty: as found. */
  readonly skip: string;
  /** What columns are, by their numbers; undefined: as found. */
  readonly roles: Readonly<Record<number, string>> | undefined;
  readonly createSensors: boolean;
  readonly skipDuplicates: boolean;
}

export type Columns = ImportAnswer['file']['columns'];

export function queryOf(
  settings: ImportSettings,
  { kind, columns }: { readonly kind: FileKind; readonly columns: Columns },
): Record<string, string> {
  const { device, timezone, timeFormat, delimiter, decimal, header, skip, roles, createSensors, skipDuplicates } =
    settings;
  return {
    ...(device.trim() === '' ? {} : { device: device.trim() }),
    timezone,
    ...(timeFormat.trim() === '' ? {} : { time_format: timeFormat.trim() }),
    ...{ delimiter, decimal, header },
    ...(/^\d+$/.test(skip.trim()) && kind === 'csv' ? { skip: skip.trim() } : {}),
    ...(roles === undefined ? {} : { columns: mappingOf(roles, { kind, columns }) }),
    create_sensors: String(createSensors),
    on_duplicate: skipDuplicates ? 'skip' : 'keep',
  };
}

/** By number; of objects by their keys, which come in any order. */
function mappingOf(
  roles: Readonly<Record<number, string>>,
  { kind, columns }: { readonly kind: FileKind; readonly columns: Columns },
): string {
  return Object.entries(roles)
    .filter(([, role]) => role !== '' && role !== '/')
    .map(([place, role]) => {
      const name = columns.find(({ column }) => String(column) === place)?.name;
      return `${kind === 'csv' || name === undefined ? place : name}=${role}`;
    })
    .join(';');
}

/** @throws ApiProblem */
export async function sendImport(
  { kind }: Pick<ChosenFile, 'kind'>,
  query: Readonly<Record<string, string>>,
  { text, key, signal }: { readonly text: string; readonly key?: string; readonly signal?: AbortSignal },
): Promise<ImportAnswer> {
  const headers = { 'content-type': contentTypes[kind], ...(key === undefined ? {} : { 'idempotency-key': key }) };
  const url = new URL(`/api/v2/import?${new URLSearchParams(query)}`, window.location.origin);
  const answer = await fetchWithToken(
    new Request(url, { method: 'POST', headers, body: text, ...(signal === undefined ? {} : { signal }) }),
  );
  if (!answer.ok) throw await ApiProblem.of(answer);
  return (await answer.json()) as ImportAnswer;
}
