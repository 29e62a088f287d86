// Keeps sealed rows of the log that the watcher has not read (I5), bounded by `replayBacklogDatapointsMax`, because it
// needs them in order of arrival; and the seqs of datapoints for which no rule is evaluated. Called by the writer thread
// inside its transactions; stores the watcher's position with each pass of sealing.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { limits } from '../../../config/limits.ts';
import { rangeNumbers } from '../../../domain/datapoints/datapoint-batch.ts';
import { countInBounds } from './log.ts';

export class ReplayBacklog {
  readonly #followedSeq: () => number;
  readonly #addRulesSkipped: StatementSync;
  readonly #copy: StatementSync;
  readonly #forget: StatementSync;
  readonly #forgetRulesSkipped: StatementSync;
  readonly #mark: StatementSync;

  /** @param followedSeq the watcher's position; -1 where there are no rules. */
  constructor(database: DatabaseSync, followedSeq: () => number) {
    this.#followedSeq = followedSeq;
    this.#addRulesSkipped = database.prepare('INSERT INTO rules_skipped (first_seq, last_seq) VALUES (?, ?)');
    this.#copy = database.prepare(
      `INSERT INTO replay_backlog (first_seq, datapoints, rows, texts, checksum)
        SELECT first_seq, datapoints, rows, texts, checksum FROM log WHERE first_seq <= ? AND first_seq + ${countInBounds} > ?`,
    );
    const forget = (table: string, last: string) =>
      database.prepare(
        `DELETE FROM ${table} WHERE first_seq IN (SELECT first_seq FROM ${table}
          WHERE first_seq <= ?1 AND ${last} <= ?1 ORDER BY first_seq LIMIT ${limits.clearRowsStep})`,
      );
    this.#forget = forget('replay_backlog', `first_seq + ${countInBounds} - 1`);
    this.#forgetRulesSkipped = forget('rules_skipped', 'last_seq');
    this.#mark = database.prepare(
      `INSERT INTO counter (name, value) VALUES ('followed_seq', ?)
        ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)`,
    );
  }

  /** Stores for which datapoints of a batch no rule is evaluated; `firstSeq` is the seq of its first datapoint. */
  addRulesSkipped(rulesSkipped: readonly number[], firstSeq: number): void {
    for (let at = 0; at < rulesSkipped.length; at += rangeNumbers) {
      const first = firstSeq + (rulesSkipped[at] as number);
      this.#addRulesSkipped.run(first, first + (rulesSkipped[at + 1] as number) - 1);
    }
  }

  /**
   * Called before the log is deleted up to `sealedSeq`: keeps rows that the watcher has not read, and deletes some of
   * those it has.
   * @returns true when more can be deleted.
   */
  keep(sealedSeq: number): boolean {
    const followedSeq = this.#followedSeq();
    const isFollowed = followedSeq >= 0;
    if (isFollowed) this.#mark.run(followedSeq);
    if (isFollowed && followedSeq < sealedSeq) this.#copy.run(sealedSeq, followedSeq + 1);
    const past = Math.max(isFollowed ? followedSeq : sealedSeq, sealedSeq - limits.replayBacklogDatapointsMax);
    const forgotten = [this.#forget, this.#forgetRulesSkipped].map((statement) => Number(statement.run(past).changes));
    return forgotten.some((rows) => rows === limits.clearRowsStep);
  }
}
