// What of the log must stay readable in order of arrival after it has settled: the rows that the watcher of rules has
// not come to (I5), bounded by `keptDatapointsMax`; and which datapoints no rule looks at. Called by the writer thread
// inside its transactions; where the watcher stands goes to disk with each settling.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../config/limits.ts';
import { quietNumbers } from '../../domain/datapoints/datapoint-batch.ts';

export class KeptLog {
  readonly #followedSeq: () => number;
  readonly #addQuiet: StatementSync;
  readonly #copy: StatementSync;
  readonly #forget: StatementSync;
  readonly #forgetQuiet: StatementSync;
  readonly #mark: StatementSync;

  /** `followedSeq` says up to where the datapoints have been followed; -1 where nobody follows. */
  constructor(database: DatabaseSync, followedSeq: () => number) {
    this.#followedSeq = followedSeq;
    this.#addQuiet = database.prepare('INSERT INTO quiet_run (first_seq, last_seq) VALUES (?, ?)');
    this.#copy = database.prepare(
      `INSERT INTO kept_log (first_seq, datapoints, rows, texts)
        SELECT first_seq, datapoints, rows, texts FROM log WHERE first_seq <= ? AND first_seq + datapoints > ?`,
    );
    this.#forget = database.prepare('DELETE FROM kept_log WHERE first_seq <= ? AND first_seq + datapoints - 1 <= ?');
    this.#forgetQuiet = database.prepare('DELETE FROM quiet_run WHERE first_seq <= ? AND last_seq <= ?');
    this.#mark = database.prepare(
      `INSERT INTO counter (name, value) VALUES ('followed_seq', ?)
        ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
    );
  }

  /** Notes which datapoints of a batch, whose first has this seq, are quiet. */
  addQuiet(quiet: readonly number[], firstSeq: number): void {
    for (let at = 0; at < quiet.length; at += quietNumbers) {
      const first = firstSeq + (quiet[at] as number);
      this.#addQuiet.run(first, first + (quiet[at + 1] as number) - 1);
    }
  }

  /** Before the log up to `settledSeq` goes: keeps what has not been followed, and forgets what has. */
  keep(settledSeq: number): void {
    const followedSeq = this.#followedSeq();
    const isFollowed = followedSeq >= 0;
    if (isFollowed) this.#mark.run(followedSeq);
    if (isFollowed && followedSeq < settledSeq) this.#copy.run(settledSeq, followedSeq + 1);
    const past = Math.max(isFollowed ? followedSeq : settledSeq, settledSeq - limits.keptDatapointsMax);
    this.#forget.run(past, past);
    this.#forgetQuiet.run(past, past);
  }
}
