// `dundun export`: writes datapoints of a service to a file, over its API. The file has the name `FILE.part` until it
// is complete.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { ApiClient, type ServiceOptions } from './api-client.ts';
import { fail } from './read-config.ts';
import { Transfer } from './transfer.ts';

export interface ExportOptions extends ServiceOptions {
  readonly device: readonly string[];
  readonly sensor?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly format?: string;
  readonly out: string;
  readonly calibrated?: true;
}

const formats = ['csv', 'ndjson', 'parquet'];

export async function exportDatapoints(options: ExportOptions): Promise<void> {
  try {
    await takeOut(options);
  } catch (error) {
    fail(error, 2);
  }
}

async function takeOut(options: ExportOptions): Promise<void> {
  const { out } = options;
  const format = options.format ?? formats.find((known) => out.toLowerCase().endsWith(`.${known}`)) ?? 'csv';
  if (!formats.includes(format)) throw new Error(`--format is ${formats.join(', ')}, not ${format}.`);
  const client = await ApiClient.open(options);
  const answer = await client.call('GET', `/sensors_data?${queryOf(options, format)}`);
  const part = `${out}.part`;
  const target: Writable = out === '-' ? process.stdout : createWriteStream(part);
  try {
    const bytes = await copy(answer, target);
    if (out === '-') return;
    target.end();
    await once(target, 'close');
    await rename(part, out);
    console.error(`${out}: ${bytes} bytes of ${format}.`);
  } catch (error) {
    if (out !== '-') await rm(part, { force: true });
    throw new Error('The export broke off before its end.', { cause: error });
  }
}

async function copy(answer: Response, target: Writable): Promise<number> {
  const transfer = new Transfer('export', 'bytes');
  let bytes = 0;
  // Without this listener an error before the first write would end the process.
  const failed = once(target, 'error').then(([error]) => Promise.reject(error));
  failed.catch(() => {});
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (!target.write(chunk)) await Promise.race([once(target, 'drain'), failed]);
    transfer.show(0, undefined, { count: bytes, more: '' });
  }
  transfer.end();
  return bytes;
}

function queryOf({ device, sensor, from, to, calibrated }: ExportOptions, format: string): string {
  const query: Record<string, string> = { format, exact: 'true', calibrated: String(calibrated === true) };
  // A date alone means its beginning in --from, and its end in --to.
  if (from !== undefined) query['dateFrom'] = /^\d{4}-\d{2}-\d{2}$/.test(from) ? `${from}T00:00:00Z` : from;
  if (to !== undefined) query['dateTo'] = /^\d{4}-\d{2}-\d{2}$/.test(to) ? `${to}T23:59:59.999Z` : to;
  const sensors = sensor === undefined ? '' : `&sensor_id=${idsText(sensor)}`;
  return `device_id=${idsText(device)}${sensors}&${new URLSearchParams(query)}`;
}

/** Ids separated by commas; a comma within an id is encoded twice. */
function idsText(ids: readonly string[]): string {
  return ids.map((id) => encodeURIComponent(id).replaceAll('%2C', '%252C')).join(',');
}
