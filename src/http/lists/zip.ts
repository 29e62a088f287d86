// A ZIP archive that is made while it is sent: one file after the other, compressed as it is read, in bounded memory. The
// list of all files comes last, so an archive that was cut off is recognised as broken by every program.
import { type PassThrough, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { limits } from '../../config/limits.ts';

/** A file of an archive; its text is read when its turn comes. */
export interface ArchivedFile {
  /** Its path in the archive. */
  readonly name: string;
  /** UTF-8 text in pieces, none of them empty. */
  readonly text: AsyncGenerator<string>;
}

/** Rows as text, and their number. */
export interface TextRows {
  readonly text: string;
  readonly rows: number;
}

/** Level of zlib, 1 to 9. Rows of datapoints shrink to a fourth; the default 6 would take three times as long to reach a fifth. */
const compressionLevel = 2;

/**
 * The bytes of the archive. Entries and archives beyond 4 GiB are written in the form of ZIP64.
 * @param at milliseconds since 1970 UTC; the time that all files bear.
 */
export async function* zipped(files: AsyncGenerator<ArchivedFile>, at: number): AsyncGenerator<Uint8Array> {
  const archive = new ZipFile();
  const output = archive.outputStream as PassThrough;
  let source: Readable | undefined;
  const fill = async () => {
    for await (const { name, text } of files) {
      if (output.destroyed) return;
      const opened = Readable.from(text, { objectMode: false });
      source = opened;
      archive.addReadStreamLazy(name, { mtime: new Date(at), compressionLevel }, (take) => take(null, opened));
      await finished(opened);
    }
    archive.end();
  };
  const filled = fill().catch((error: Error) => output.destroy(error));
  try {
    yield* output;
  } finally {
    // The reader may have gone: then nothing more is read for it.
    output.destroy();
    source?.destroy();
    await filled;
  }
}

/**
 * Rows as one file, or as several where they are many: `devices.json`, `devices-2.json`. Each begins with `head`, and ends
 * with `tail`; `separator` stands between the pieces of a file.
 * @param options.path the path without the ending. `isKeptEmpty`: whether there is a file where there are no rows.
 */
export async function* inParts(
  lines: AsyncGenerator<TextRows>,
  options: {
    readonly path: string;
    readonly form: {
      readonly ending: string;
      readonly head: string;
      readonly separator: string;
      readonly tail: string;
    };
    readonly isKeptEmpty: boolean;
  },
): AsyncGenerator<ArchivedFile> {
  const { path, form, isKeptEmpty } = options;
  let next = await lines.next();
  const part = async function* () {
    yield form.head;
    for (let [rows, chars] = [0, 0]; next.done !== true; ) {
      if (rows >= limits.archiveFileRows || chars >= limits.archiveFileChars) break;
      yield `${rows === 0 ? '' : form.separator}${next.value.text}`;
      rows += next.value.rows;
      chars += next.value.text.length;
      next = await lines.next();
    }
    if (form.tail !== '') yield form.tail;
  };
  try {
    for (let number = 1; next.done !== true || (isKeptEmpty && number === 1); number++)
      yield { name: `${path}${number === 1 ? '' : `-${number}`}.${form.ending}`, text: part() };
  } finally {
    await lines.return(undefined);
  }
}
