// Splits a file at line ends into parts of a bounded size, one for each request. A line break inside quotes does not
// end a line of CSV. Called by import-command.ts; holds one part.
import { limits } from '../config/limits.ts';

const lineFeed = 0x0a;
const quote = 0x22;

/** @param options `hasQuotes`: whether quotes may contain line breaks. */
export async function* fileParts(
  chunks: AsyncIterable<Uint8Array>,
  options: { readonly hasQuotes: boolean },
): AsyncGenerator<Buffer<ArrayBuffer>> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    gathered.push(chunk);
    bytes += chunk.length;
    if (bytes < limits.importPartBytes) continue;
    const whole = Buffer.concat(gathered);
    // If a quote is never closed, the part ends at any line end, and the service reports the faulty line.
    const end =
      lastLineEnd(whole, options) || (bytes < 2 * limits.importPartBytes ? 0 : whole.lastIndexOf(lineFeed) + 1);
    if (end > 0) yield whole.subarray(0, end);
    gathered = [whole.subarray(end)];
    bytes -= end;
  }
  if (bytes > 0) yield Buffer.concat(gathered);
}

/** Index after the last line feed outside quotes; 0 where there is none. */
function lastLineEnd(bytes: Buffer, { hasQuotes }: { readonly hasQuotes: boolean }): number {
  if (!hasQuotes) return bytes.lastIndexOf(lineFeed) + 1;
  let isInside = false;
  let end = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) isInside = !isInside;
    else if (byte === lineFeed && !isInside) end = at + 1;
  }
  return end;
}

/** The first lines of a text; all of it where it has no more. */
export function firstLines(bytes: Buffer<ArrayBuffer>, count: number): Buffer<ArrayBuffer> {
  let end = 0;
  for (let n = 0; n < count; n++) {
    const found = bytes.indexOf(lineFeed, end);
    if (found < 0) return bytes;
    end = found + 1;
  }
  return bytes.subarray(0, end);
}
