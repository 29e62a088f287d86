// Runs removals and corrections of datapoints in the writer thread, one step at a time and in turns, with pauses in which
// commits have theirs. A pass of sealing has read the log and would bring back what is removed from it meanwhile: so a
// step that changes the log waits for the end of the pass, after which those datapoints are in chunks.
import { limits } from '../../../config/limits.ts';
import { type WriteFailure, writeFailureOf } from '../database/database-error.ts';
import type { EditOrder, EditResult } from '../database/database-writer.ts';
import { PassUnderWay } from './chunk-edits.ts';
import { DatapointCorrection } from './datapoint-correction.ts';
import { DatapointRemoval, type EditStatements } from './datapoint-removal.ts';

type Edit = DatapointRemoval | DatapointCorrection;

interface EditOutcome {
  readonly id: number;
  readonly edited?: EditResult;
  readonly failure?: WriteFailure;
}

interface EditParts {
  readonly statements: EditStatements;
  readonly sealing: { readonly isUnderWay: boolean };
  /** Makes room on the disk after a failure; true where the step may be tried again at once. */
  readonly makeRoom: (failure: WriteFailure) => boolean;
  readonly report: (outcome: EditOutcome) => void;
}

export class DatapointEdits {
  readonly #parts: EditParts;
  /** Bounded by the main thread (`editsAtOnceMax`). The first is next. */
  readonly #edits: { readonly id: number; readonly edit: Edit; waitsForPass?: boolean }[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: EditParts) {
    this.#parts = parts;
  }

  add(id: number, order: EditOrder): void {
    const { statements } = this.#parts;
    const edit =
      'removal' in order
        ? new DatapointRemoval(order.removal, statements)
        : new DatapointCorrection(order.correction, statements);
    this.#edits.push({ id, edit });
    this.#schedule(0);
  }

  /** A unit of sealing has replaced chunks. */
  chunksReplaced(): void {
    for (const { edit } of this.#edits) edit.chunksReplaced();
  }

  /** A pass of sealing has ended. */
  passEnded(): void {
    if (this.#edits.length > 0) this.#schedule(0);
  }

  /** Stops after the present step. Removals that have begun are completed at the next start. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), ms);
  }

  #run(): void {
    const { sealing } = this.#parts;
    const index = this.#edits.findIndex(
      ({ edit, waitsForPass }) => !sealing.isUnderWay || (!edit.isInLog && waitsForPass !== true),
    );
    // The others wait for the end of a pass.
    const [next] = index < 0 ? [] : this.#edits.splice(index, 1);
    if (next === undefined) return;
    const startMs = performance.now();
    let waitMs: number | undefined;
    try {
      if (next.edit.step()) this.#parts.report({ id: next.id, edited: next.edit.result });
      else this.#edits.push({ ...next, waitsForPass: false });
    } catch (error) {
      if (error instanceof PassUnderWay) {
        this.#edits.push({ ...next, waitsForPass: true });
        this.#schedule(0);
        return;
      }
      const failure = writeFailureOf(error);
      const isRetried = this.#parts.makeRoom(failure) || next.edit.hasBegun;
      if (isRetried) this.#edits.unshift(next);
      else this.#parts.report({ id: next.id, failure });
      waitMs = isRetried ? limits.editRetryMs : undefined;
    }
    // Pauses as long as the step took.
    if (this.#edits.length > 0) this.#schedule(waitMs ?? performance.now() - startMs);
  }
}
