// A file that was chosen: what kind it is, how its letters are written, its first lines. Nothing reads it whole but a JSON
// array, which the server takes up to 16 MiB.
import { limits } from '../../limits.ts';

export const encodings = ['utf-8', 'windows-1252', 'utf-16le'] as const;
export type Encoding = (typeof encodings)[number];
export type FileKind = 'csv' | 'ndjson' | 'json';

export interface ChosenFile {
  readonly file: File;
  readonly kind: FileKind;
  readonly encoding: Encoding;
  /** Its first lines, in UTF-8, for the preview. */
  readonly head: string;
}

export const contentTypes: Readonly<Record<FileKind, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
  json: 'application/json',
};

export async function openFile(file: File, said?: Encoding): Promise<ChosenFile> {
  const kind = kindOf(file.name);
  if (kind === 'json') return { file, kind, encoding: 'utf-8', head: file.size > limits.importArrayBytesMax ? '' : await file.text() }; // biome-ignore format: one line
  const bytes = new Uint8Array(await file.slice(0, limits.importPreviewBytes).arrayBuffer());
  const encoding = said ?? guessEncoding(bytes);
  const text = new TextDecoder(encoding).decode(bytes, { stream: true });
  const isWhole = file.size <= limits.importPreviewBytes;
  return { file, kind, encoding, head: isWhole ? text : text.slice(0, text.lastIndexOf('\n') + 1) };
}

function kindOf(name: string): FileKind {
  if (/\.(ndjson|jsonl)$/i.test(name)) return 'ndjson';
  return /\.json$/i.test(name) ? 'json' : 'csv';
}

/** UTF-8 where it is that; what older loggers and spreadsheets write otherwise. */
function guessEncoding(bytes: Uint8Array): Encoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return 'utf-8';
  } catch {
    return 'windows-1252';
  }
}
