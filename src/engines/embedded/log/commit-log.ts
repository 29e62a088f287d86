// The port CommitLog on SQLite, for the main thread: appends through the writer thread and adds each commit to the head
// at once; followers read from the tables.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { countRows, type DatapointBatch, type PushReceipt } from '../../../domain/datapoints/datapoint-batch.ts';
import type { CommitLog, FingerprintTrim, LogEntry } from '../../../domain/ports/commit-log.ts';
import type { Fence } from '../../../domain/ports/coordination.ts';
import type { Head } from '../../shared/head/head.ts';
import { idOfHash, receiptKeyOf } from '../../shared/log/receipt-ids.ts';
import type { DatabaseWriter } from '../database/database-writer.ts';
import { Damage, readLog } from './log.ts';
import type { LogFollower } from './log-follower.ts';
import { listFingerprints, trimFingerprints } from './publish-fingerprints.ts';
import { movedReceipts } from './receipts.ts';

export class SqliteCommitLog implements CommitLog {
  readonly #writer: DatabaseWriter;
  readonly #reader: DatabaseSync;
  readonly #head: Head;
  readonly #follower: LogFollower;
  readonly #isNewest: (fence: Fence) => boolean;
  readonly #receipt: StatementSync;
  /** When the newest receipt was stored of those that were moved here from a database. */
  #movedReceiptsMs = 0;
  #lastPosition = 0;
  #damage: readonly string[] = [];

  constructor(parts: {
    readonly writer: DatabaseWriter;
    readonly reader: DatabaseSync;
    readonly head: Head;
    readonly follower: LogFollower;
    /** False where the lease was taken with a greater epoch. */
    readonly isNewest: (fence: Fence) => boolean;
  }) {
    this.#writer = parts.writer;
    this.#reader = parts.reader;
    this.#head = parts.head;
    this.#follower = parts.follower;
    this.#isNewest = parts.isNewest;
    this.#receipt = parts.reader.prepare(
      'SELECT id, caller, body_hash AS bodyHash, answer, at AS atMs FROM receipt WHERE id = ?',
    );
  }

  /** Rebuilds the head from the log. */
  async start(): Promise<void> {
    // One transaction, because the writer thread may begin to seal at any moment.
    this.#reader.exec('BEGIN');
    let isFirst = true;
    const damage = new Damage();
    const whole = { upTo: Number.MAX_SAFE_INTEGER, onDamaged: damage.add.bind(damage) };
    for (const piece of readLog(this.#reader, whole)) {
      if (isFirst) this.#head.startBehind(piece.firstSeq - 1);
      isFirst = false;
      this.#head.add(piece, piece.firstSeq);
    }
    this.#reader.exec('COMMIT');
    this.#damage = damage.describe();
    this.#lastPosition = this.#follower.lastSeq();
    if (isFirst) this.#head.startBehind(this.#lastPosition);
    const moved = this.#reader.prepare('SELECT value FROM counter WHERE name = ?').get(movedReceipts);
    this.#movedReceiptsMs = Number(moved?.['value'] ?? 0);
  }

  /** One sentence for each log row that could not be read at start. */
  get damage(): readonly string[] {
    return this.#damage;
  }

  get isCatchingUp(): boolean {
    return this.#writer.isCatchingUp;
  }

  get sealingDebt(): number {
    return this.#writer.sealingDebt;
  }

  set onCaughtUp(caughtUp: () => void) {
    this.#writer.onCaughtUp = caughtUp;
  }

  /** There are no other processes to follow. */
  onFollowed = async (): Promise<void> => {};

  relay(): undefined {}

  onRelayed = async (): Promise<void> => {};

  async caughtUp(): Promise<void> {}

  onPublished = (): void => {};

  append(batch: DatapointBatch): Promise<number> {
    return this.#writer.append(batch, (firstSeq) => {
      this.#head.add(batch, firstSeq);
      this.#lastPosition = firstSeq + countRows(batch) - 1;
    });
  }

  get lastPosition(): number {
    return this.#lastPosition;
  }

  /**
   * From the head, or if that is empty from `latest`. A removed sensor has no row in `latest`, so this may be an older
   * datapoint of another sensor.
   */
  async newestReceivedMs(): Promise<number | undefined> {
    const sealed = this.#reader.prepare('SELECT received, max(seq) FROM latest').get()?.['received'];
    return this.#head.lastReceivedMs ?? (sealed as number | null | undefined) ?? undefined;
  }

  async readAfter(position: number): Promise<LogEntry[]> {
    return this.#follower.readAfter(position);
  }

  confirm(position: number | undefined, fence: Fence): void {
    if (this.#isNewest(fence)) this.#follower.confirm(position);
  }

  async confirmedPosition(): Promise<number | undefined> {
    return this.#follower.confirmedSeq();
  }

  /**
   * Only reads the receipt: one process has the data and joins repeats in memory, so that nothing needs to be claimed.
   */
  async claimReceipt(
    id: string,
    { sinceMs, untilMs = Number.POSITIVE_INFINITY }: { readonly sinceMs: number; readonly untilMs?: number },
  ): Promise<PushReceipt | undefined> {
    const found = (key: string) => {
      const receipt = this.#receipt.get(key) as PushReceipt | undefined;
      return receipt !== undefined && receipt.atMs > sinceMs && receipt.atMs <= untilMs
        ? { ...receipt, id }
        : undefined;
    };
    return found(id) ?? (this.#movedReceiptsMs > sinceMs ? found(idOfHash(receiptKeyOf(id))) : undefined);
  }

  async releaseClaim(): Promise<void> {}

  async listFingerprints(): Promise<Iterable<Uint32Array>> {
    return listFingerprints(this.#reader);
  }

  trimFingerprints(trim: FingerprintTrim): Promise<void> {
    return trimFingerprints({ reader: this.#reader, writer: this.#writer }, trim);
  }
}
