// Cuts a file into parts of a bounded size that end at the end of a line; a line break inside quotes ends no line of CSV.
// Holds one part. Called by import-job.ts.
import { limits } from '../../limits.ts';
import type { ChosenFile } from './chosen-file.ts';

export interface FilePart {
  readonly text: string;
  /** Bytes of the file up to the end of this part. */
  readonly bytesRead: number;
}

export async function* fileParts({ file, kind, encoding }: ChosenFile): AsyncGenerator<FilePart> {
  if (kind === 'json') {
    yield { text: await file.text(), bytesRead: file.size };
    return;
  }
  const reader = file.stream().getReader();
  const decoder = new TextDecoder(encoding, { fatal: encoding !== 'windows-1252' });
  let waiting = '';
  let bytesRead = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytesRead += value.length;
    waiting += decoder.decode(value, { stream: true });
    if (waiting.length < limits.importPartChars) continue;
    // Where quotes never end, the service says which line is wrong.
    const patient = waiting.length < 2 * limits.importPartChars;
    const end = lastLineEnd(waiting, kind === 'csv') || (patient ? 0 : waiting.lastIndexOf('\n') + 1);
    if (end === 0) continue;
    yield { text: waiting.slice(0, end), bytesRead };
    waiting = waiting.slice(end);
  }
  waiting += decoder.decode();
  if (waiting !== '') yield { text: waiting, bytesRead };
}

/** The first lines of a text. */
export function firstLines(text: string, count: number): string {
  let end = 0;
  for (let n = 0; n < count; n += 1) end = text.indexOf('\n', end) + 1;
  return text.slice(0, end);
}

/** Behind the last line break that is outside quotes; 0 where there is none. */
function lastLineEnd(text: string, hasQuotes: boolean): number {
  if (!hasQuotes || !text.includes('"')) return text.lastIndexOf('\n') + 1;
  let isInside = false;
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') isInside = !isInside;
    else if (char === '\n' && !isInside) end = at + 1;
  }
  return end;
}
