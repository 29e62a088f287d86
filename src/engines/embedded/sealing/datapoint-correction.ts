// One correction of a datapoint's value, in the log or in its chunk, in one transaction. Run by datapoint-edits.ts in the
// writer thread.
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import type { CorrectionOrder, EditResult } from '../../shared/sealing/edit-order.ts';
import type { EditStatements } from './datapoint-removal.ts';

export class DatapointCorrection {
  readonly #order: CorrectionOrder;
  readonly #statements: EditStatements;
  #found = 0;
  #unreadable = 0;
  readonly hasBegun = false;

  constructor(order: CorrectionOrder, statements: EditStatements) {
    this.#order = order;
    this.#statements = statements;
  }

  /** True where the step changes the log: no pass of sealing may be under way. */
  get isInLog(): boolean {
    const { sensor, seq } = this.#order;
    return seq > this.#statements.sealedSeq(sensor);
  }

  /** How many datapoints fit, and whether some could not be read (1). */
  get result(): EditResult {
    return [this.#found, this.#unreadable];
  }

  /** @returns true: one step is all. */
  step(): true {
    try {
      this.#found = this.#statements.inTransaction(() => this.#correct());
    } catch (error) {
      if (!(error instanceof CorruptChunk)) throw error;
      this.#unreadable = 1;
    }
    return true;
  }

  chunksReplaced(): void {}

  /** What it is, as the beginning of a sentence. */
  describe(): string {
    return `A correction of a datapoint of ${this.#statements.sensorName(this.#order.sensor)}`;
  }

  /** What the caller is told where a page of the database is damaged. */
  get damageDetail(): string {
    return 'Nothing was corrected: the database is damaged where this datapoint lies. dundun check tells more.';
  }

  /** @returns how many datapoints fit; nothing is changed where that is not 1. */
  #correct(): number {
    const { sensor, atMs, seq, value } = this.#order;
    const { chunks, log } = this.#statements;
    const found = chunks.find(this.#order);
    const [only, ...others] = found;
    if (this.isInLog) {
      if (found.length > 0 || !log.correct({ sensor, atMs, seq }, value))
        return found.length + Number(found.length > 0);
    } else {
      if (only === undefined || others.length > 0) return found.length;
      chunks.correct(sensor, only, value);
    }
    this.#statements.changed(sensor, 0);
    return 1;
  }
}
