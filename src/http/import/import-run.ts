// Imports a file from its first to its last line in batches, each stored before the next is read. Where it cannot
// continue, what is stored stays, and the report says where it stopped. Called by v2/datapoints/imports.ts.

import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';
import type { ImportLine } from '../../domain/datapoints/import/import-line.ts';
import type { ImportRun as StoredRun } from '../../domain/datapoints/import/imports.ts';
import type { ImportBody } from './import-body.ts';
import { type ImportFile, type ImportPlan, makePlan } from './import-plan.ts';
import type { ImportQuery } from './import-query.ts';
import { ImportReport } from './import-report.ts';
import { LineReader } from './line-reader.ts';
import { saidOf } from './value-texts.ts';

export interface FileImportResult {
  readonly plan: ImportPlan;
  readonly report: ImportReport;
}

/** @throws Refusal where nothing was stored. */
export async function importFile(
  body: ImportBody,
  query: ImportQuery,
  options: { readonly run: StoredRun; readonly knownSensors: ImportFile['knownSensors']; readonly caller: Caller },
): Promise<FileImportResult> {
  const texts = body.texts();
  const { kind } = body;
  const items = await body.readItems(options.caller);
  const { sample, isWhole } = await readSample(texts);
  const plan = makePlan(query, { kind, items, sample, isWhole, knownSensors: options.knownSensors });
  if (plan.problems.length > 0 && !query.dry_run)
    throw new Refusal('malformed', plan.problems.map(({ text }) => text).join(' '));
  const report = new ImportReport();
  const run = new FileImport({ plan, report, query, run: options.run, caller: options.caller });
  try {
    await run.readAll(sample, texts);
  } catch (error) {
    const hasStored = !query.dry_run && report.accepted + report.known > 0;
    if (!(error instanceof Refusal) || !hasStored) throw error;
    report.stopAt(run.firstOpenLine, { detail: error.message, said: saidOf(error) });
  }
  return { plan, report };
}

/** Enough of the text to detect its dialect. */
async function readSample(
  texts: AsyncGenerator<string>,
): Promise<{ readonly sample: string; readonly isWhole: boolean }> {
  let sample = '';
  while (sample.length < limits.importSampleChars) {
    const next = await texts.next();
    if (next.done === true) return { sample, isWhole: true };
    sample += next.value;
  }
  return { sample, isWhole: false };
}

class FileImport {
  readonly #plan: ImportPlan;
  readonly #report: ImportReport;
  readonly #reader: LineReader;
  readonly #run: StoredRun;
  readonly #caller: Caller;
  readonly #linesMax: number;
  #batch: ImportLine[] = [];
  #chars = 0;
  /** When this piece of the work began. */
  #pieceMs = 0;

  constructor(parts: {
    readonly plan: ImportPlan;
    readonly report: ImportReport;
    readonly query: ImportQuery;
    readonly run: StoredRun;
    readonly caller: Caller;
  }) {
    const { plan, report, query, run, caller } = parts;
    this.#plan = plan;
    this.#report = report;
    this.#reader = new LineReader(plan, query, report);
    this.#run = run;
    this.#caller = caller;
    this.#linesMax = query.lines ?? Number.POSITIVE_INFINITY;
    report.nextLine = query.line ?? 1;
  }

  /** The first line that was not processed. */
  get firstOpenLine(): number {
    return this.#batch[0]?.line ?? this.#report.nextLine;
  }

  async readAll(sample: string, rest: AsyncGenerator<string>): Promise<void> {
    let hasRoom = await this.#read(sample, { isEnd: false });
    while (hasRoom) {
      const next = await rest.next();
      hasRoom = await this.#read(next.done === true ? '' : next.value, { isEnd: next.done === true });
      if (next.done === true) break;
    }
    await this.#flush();
  }

  /** False when the requested number of lines has been read. */
  async #read(piece: string, options: { readonly isEnd: boolean }): Promise<boolean> {
    await this.#begin();
    for (const row of this.#plan.rows.read(piece, options)) {
      // One piece of text may be the whole file, and one line may take long.
      if (performance.now() - this.#pieceMs >= limits.pieceMsMax) await this.#begin();
      this.#report.lines += 1;
      this.#report.nextLine = row.nextLine;
      const lines = this.#reader.read(row);
      this.#report.addRead(lines);
      for (const line of lines) await this.#add(line);
      if (this.#report.lines >= this.#linesMax) return false;
    }
    return true;
  }

  /** Waits for the import's turn. */
  async #begin(): Promise<void> {
    await loopTurns.turn(this.#caller);
    this.#pieceMs = performance.now();
  }

  async #add(line: ImportLine): Promise<void> {
    const { value } = line.reading;
    // The ends of batches depend on the file only, so that a repeat under a key makes the same batches.
    if (this.#batch.length >= limits.importBatchDatapoints || this.#chars >= limits.importBatchChars)
      await this.#flush();
    this.#batch.push(line);
    if (typeof value === 'string') this.#chars += value.length;
    this.#chars += line.unit?.length ?? 0;
  }

  async #flush(): Promise<void> {
    // A dry run shows the plan even where settings for storing are missing.
    const isComplete = this.#plan.problems.length === 0;
    if (this.#batch.length > 0 && isComplete) this.#report.addOutcome(await this.#run.store(this.#batch));
    this.#batch = [];
    this.#chars = 0;
  }
}
