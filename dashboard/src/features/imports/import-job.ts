// Sends a file part by part, each committed before the next is read. A part that broke off is sent again under its own
// key, so that nothing is stored twice. Holds one part and the totals.
import { randomKey } from '../../api/random-key.ts';
import { limits } from '../../limits.ts';
import type { ChosenFile } from './chosen-file.ts';
import { type FilePart, fileParts, firstLines } from './file-parts.ts';
import { type ImportAnswer, sendImport } from './import-call.ts';

export class ImportJob {
  readonly #chosen: ChosenFile;
  readonly #query: Readonly<Record<string, string>>;
  readonly #key = randomKey();
  readonly #parts: AsyncGenerator<FilePart>;
  readonly isDry: boolean;
  #current: FilePart | undefined;
  #number = 0;
  #head = '';
  #total: ImportAnswer | undefined;
  #bytesDone = 0;

  constructor(chosen: ChosenFile, query: Readonly<Record<string, string>>, { isDry }: { readonly isDry: boolean }) {
    this.#chosen = chosen;
    this.#query = { ...query, dry_run: String(isDry) };
    this.#parts = fileParts(chosen);
    this.isDry = isDry;
  }

  get total(): ImportAnswer | undefined {
    return this.#total;
  }

  get bytesDone(): number {
    return this.#bytesDone;
  }

  /** Sends the next part, or the one that broke off; false when there is no more to do. @throws ApiProblem */
  async advance(): Promise<boolean> {
    this.#current ??= (await this.#parts.next()).value ?? undefined;
    if (this.#current === undefined) return false;
    const { text, bytesRead } = this.#current;
    const before = this.#total;
    const told = await sendImport(
      this.#chosen,
      { ...this.#query, ...(before === undefined ? {} : nextOf(before)) },
      { text: this.#head + text, ...(this.isDry ? {} : { key: `${this.#key}-${this.#number}` }) },
    );
    if (before === undefined) this.#head = firstLines(text, told.next.head_lines);
    this.#total = before === undefined ? told : added(before, told);
    this.#number += 1;
    this.#current = undefined;
    this.#bytesDone = bytesRead;
    return told.stopped === undefined && told.problems.length === 0;
  }
}

/** What makes the next part be read like those before. */
function nextOf({ next: { head_lines: _, ...next } }: ImportAnswer): Record<string, string> {
  return Object.fromEntries(Object.entries(next).map(([name, value]) => [name, String(value)]));
}

function added(total: ImportAnswer, told: ImportAnswer): ImportAnswer {
  const times = [total.from, total.to, told.from, told.to].filter((time) => time !== undefined).sort();
  const [from, to] = [times[0], times.at(-1)];
  const known = new Set(total.created.map(({ device_id, sensor_id }) => `${device_id}/${sensor_id}`));
  return {
    ...told,
    lines: total.lines + told.lines,
    accepted: total.accepted + told.accepted,
    duplicates: total.duplicates + told.duplicates,
    missing: total.missing + told.missing,
    refused_count: total.refused_count + told.refused_count,
    refused: [...total.refused, ...told.refused].slice(0, limits.importRefusedShownMax),
    created: [
      ...total.created,
      ...told.created.filter(({ device_id, sensor_id }) => !known.has(`${device_id}/${sensor_id}`)),
    ],
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    next: { ...told.next, head_lines: total.next.head_lines },
  };
}
