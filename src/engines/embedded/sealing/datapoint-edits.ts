// Runs removals and corrections of datapoints in the writer thread, one step at a time and in turns, with pauses in which
// commits have theirs. A pass of sealing has read the log and would bring back what is removed from it meanwhile: so a
// step that changes the log waits for the end of the pass, after which those datapoints are in chunks. A step that the
// disk refused is tried again, behind the others; one that met a damaged page is not.
import { limits } from '../../../config/limits.ts';
import type { EditOrder, EditResult } from '../../shared/sealing/edit-order.ts';
import type { WriteFailure } from '../../shared/write-failure.ts';
import { writeFailureOf } from '../database/database-error.ts';
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
  /** Called with a sentence about data that turned out to be damaged. */
  readonly onDamaged: (what: string) => void;
}

interface QueuedEdit {
  readonly id: number;
  readonly edit: Edit;
  /** True where the last step needs the end of the pass of sealing. */
  waitsForPass?: boolean;
  /** Failures one after the other. */
  failures?: number;
  /** No step before this time, in milliseconds of `performance.now`. */
  notBeforeMs?: number;
  /** True where the caller has its answer, and the rest is done all the same. */
  isAnswered?: boolean;
}

export class DatapointEdits {
  readonly #parts: EditParts;
  /** Bounded by the main thread (`editsAtOnceMax`), and by `editsLeftMax`. The first is next. */
  readonly #edits: QueuedEdit[] = [];
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
    const startMs = performance.now();
    const index = this.#edits.findIndex((queued) => this.#mayStep(queued, startMs));
    const [next] = index < 0 ? [] : this.#edits.splice(index, 1);
    if (next !== undefined) this.#step(next);
    // Pauses as long as the step took.
    const endMs = performance.now();
    const untilMs = this.#nextMs(endMs + (endMs - startMs));
    if (untilMs !== undefined) this.#schedule(Math.max(0, untilMs - endMs));
  }

  #isHeldBySealing({ edit, waitsForPass }: QueuedEdit): boolean {
    return this.#parts.sealing.isUnderWay && (edit.isInLog || waitsForPass === true);
  }

  #mayStep(queued: QueuedEdit, nowMs: number): boolean {
    return (queued.notBeforeMs ?? 0) <= nowMs && !this.#isHeldBySealing(queued);
  }

  /** When the next step is due; undefined where none is, or all wait for the end of a pass. */
  #nextMs(earliestMs: number): number | undefined {
    const due = this.#edits.filter((queued) => !this.#isHeldBySealing(queued));
    if (due.length === 0) return undefined;
    return Math.max(earliestMs, Math.min(...due.map(({ notBeforeMs = 0 }) => notBeforeMs)));
  }

  #step(next: QueuedEdit): void {
    const { id, edit, isAnswered = false } = next;
    try {
      if (!edit.step()) this.#edits.push({ id, edit, isAnswered });
      else if (!isAnswered) this.#parts.report({ id, edited: edit.result });
    } catch (error) {
      if (error instanceof PassUnderWay) this.#edits.push({ ...next, waitsForPass: true });
      else this.#failed(next, writeFailureOf(error));
    }
  }

  /** Tries again where that may help; the others have their turn first. */
  #failed(next: QueuedEdit, failure: WriteFailure): void {
    const { edit, isAnswered = false } = next;
    const hasRoom = this.#parts.makeRoom(failure);
    const mayPass = failure.kind === 'storage' && failure.isDamaged !== true;
    if (!hasRoom && !(mayPass && edit.hasBegun)) {
      this.#giveUp(next, failure);
      return;
    }
    const failures = (next.failures ?? 0) + 1;
    const waitMs = isAnswered ? limits.editLeftRetryMs : limits.editRetryMs;
    const queued = { ...next, failures, notBeforeMs: performance.now() + waitMs };
    if (failures < limits.editRetriesAnswered || isAnswered) {
      this.#edits.push(queued);
      return;
    }
    // The caller does not wait for ever, and others need its place; the removal is noted, and goes on.
    const { id } = next;
    this.#parts.report(edit.hasBegun ? { id, edited: edit.result, failure } : { id, failure });
    const left = this.#edits.filter((one) => one.isAnswered === true).length;
    if (edit.hasBegun && left < limits.editsLeftMax) this.#edits.push({ ...queued, isAnswered: true });
  }

  /** A removal that has begun stays noted, and is tried again at the next start. */
  #giveUp({ id, edit, isAnswered = false }: QueuedEdit, failure: WriteFailure): void {
    const isDamaged = failure.isDamaged === true;
    if (isDamaged) this.#parts.onDamaged(`${edit.describe()} met a damaged page: ${failure.message}. ${advice}`);
    if (isAnswered) return;
    const told: WriteFailure = isDamaged ? { kind: 'damaged', message: edit.damageDetail } : failure;
    this.#parts.report(edit.hasBegun ? { id, edited: edit.result, failure: told } : { id, failure: told });
  }
}

const advice = 'What was done before stays done. "dundun check" tells what is damaged.';
