// Runs a push once under an Idempotency-Key (contract 5). A repeat stores nothing and gets the first answer, also
// while the first push is in progress and after a crash. Used by ingest.ts, bulk.ts and imports.ts, which store the
// receipt in the same commit as the push, so that either both exist or neither.
import { createHash } from 'node:crypto';
import { Refusal } from '../../../base/refusal.ts';
import type { AgeClocks } from '../../../base/time/clock-watch.ts';
import type { CommitLog } from '../../ports/commit-log.ts';
import type { PushReceipt } from '../datapoint-batch.ts';

/** Identifies a push, so that its repeat is recognised. */
export interface IdempotencyKey {
  readonly key: string;
  /** The method and path that the key belongs to. */
  readonly endpoint: string;
  readonly body: Uint8Array;
}

/** What the guard needs of the commit log. */
export type ReceiptClaims = Pick<CommitLog, 'claimReceipt' | 'releaseClaim'>;

/** A push that must be stored once. */
interface IdempotentPush<Answer> {
  /** The caller; keys of different callers are independent. */
  readonly caller: string;
  readonly key: IdempotencyKey;
  /**
   * Added to the path, where the same path may come to mean something else (a sensor created again), or a request has
   * parts.
   */
  readonly part?: string | number;
  /** Runs the push and stores the receipt with it, adding the text of the answer. */
  readonly first: (receipt: PushReceipt) => Promise<Answer>;
  /** Restores the answer from the text in the receipt. */
  readonly again: (answer: string) => Answer;
}

export class IdempotencyGuard<Answer> {
  readonly #commitLog: ReceiptClaims;
  readonly #clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
  readonly #receiptMs: number;
  /** Pushes in progress, so that a repeat waits for the first. */
  readonly #pending = new Map<string, { readonly bodyHash: string; readonly done: Promise<Answer> }>();

  constructor(parts: {
    readonly commitLog: ReceiptClaims;
    readonly clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
    readonly receiptHours: number;
  }) {
    this.#commitLog = parts.commitLog;
    this.#clocks = parts.clocks;
    this.#receiptMs = parts.receiptHours * 3_600_000;
  }

  /**
   * Runs the push, or returns the answer of its first run. @throws Refusal `conflict` when the key came with another
   * body before; and what `first` throws.
   */
  async run(push: IdempotentPush<Answer>): Promise<Answer> {
    const { caller, key, part = '' } = push;
    const bodyHash = createHash('sha256').update(key.body).digest('base64');
    const id = `${caller}\n${key.endpoint}\n${part}\n${key.key}`;
    const first = this.#pending.get(id);
    if (first !== undefined) {
      assertSameBody(first.bodyHash, bodyHash);
      return first.done;
    }
    const { forAge, forExpiry } = this.#clocks;
    // A receipt that is too young is harmless; one that is too old lets its push be stored twice.
    const sinceMs = forAge.now() - this.#receiptMs;
    const receipt = { id, caller, bodyHash, answer: '', atMs: forExpiry.now(), sinceMs };
    const done = this.#runFirst(push, receipt).finally(() => this.#pending.delete(id));
    this.#pending.set(id, { bodyHash, done });
    return done;
  }

  async #runFirst(
    { first, again }: IdempotentPush<Answer>,
    receipt: PushReceipt & { sinceMs: number },
  ): Promise<Answer> {
    const { id, sinceMs } = receipt;
    const earlier = await this.#commitLog.claimReceipt(id, { sinceMs });
    if (earlier !== undefined) {
      assertSameBody(earlier.bodyHash, receipt.bodyHash);
      return again(earlier.answer);
    }
    try {
      return await first(receipt);
    } catch (error) {
      await this.#commitLog.releaseClaim(id);
      throw error;
    }
  }
}

function assertSameBody(first: string, now: string): void {
  if (first === now) return;
  throw new Refusal('conflict', 'This Idempotency-Key was used before with another body. Use a new key for new data.');
}
