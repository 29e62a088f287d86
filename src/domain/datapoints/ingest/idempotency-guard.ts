// Runs a push once under an Idempotency-Key (contract 5): a repeat of a push stores nothing again and gets the first answer, while
// the first is under way as well as after it, crashes between included. For ingest.ts and bulk.ts, which put the receipt
// handed to them into the commit of what they store: then the two are there together or not at all.
import { createHash } from 'node:crypto';
import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { CommitLog } from '../../ports/commit-log.ts';
import type { PushReceipt } from '../datapoint-batch.ts';

/** Names a push so that its repeat is recognised. */
export interface IdempotencyKey {
  readonly key: string;
  /** The method and path the key belongs to. */
  readonly door: string;
  readonly body: Uint8Array;
}

/** A push that is to happen once. */
interface IdempotentPush<Answer> {
  /** Who pushes: a key is the caller's own. */
  readonly caller: string;
  readonly key: IdempotencyKey;
  /** What the key belongs to beside the path, where a path may come to mean something else. */
  readonly part?: string | number;
  /** Does it, and stores the receipt with it; the text of the answer is for it to add. */
  readonly first: (receipt: PushReceipt) => Promise<Answer>;
  /** The answer out of the receipt's text. */
  readonly again: (answer: string) => Answer;
}

export class IdempotencyGuard<Answer> {
  readonly #commitLog: Pick<CommitLog, 'findReceipt'>;
  readonly #clock: Clock;
  readonly #receiptMs: number;
  /** Pushes that are under way, so that a repeat waits for the first instead of storing beside it. */
  readonly #pending = new Map<string, { readonly bodyHash: string; readonly done: Promise<Answer> }>();

  constructor(parts: {
    readonly commitLog: Pick<CommitLog, 'findReceipt'>;
    readonly clock: Clock;
    readonly receiptHours: number;
  }) {
    this.#commitLog = parts.commitLog;
    this.#clock = parts.clock;
    this.#receiptMs = parts.receiptHours * 3_600_000;
  }

  /** @throws Refusal `conflict` when the key came with another body before; and what `first` throws. */
  async run(push: IdempotentPush<Answer>): Promise<Answer> {
    const { caller, key, part = '' } = push;
    const bodyHash = createHash('sha256').update(key.body).digest('base64');
    const id = `${caller}\n${key.door}\n${part}\n${key.key}`;
    const first = this.#pending.get(id);
    if (first !== undefined) {
      assertSameBody(first.bodyHash, bodyHash);
      return first.done;
    }
    const receipt = { id, caller, bodyHash, answer: '', atMs: this.#clock.now() };
    const done = this.#runFirst(push, receipt).finally(() => this.#pending.delete(id));
    this.#pending.set(id, { bodyHash, done });
    return done;
  }

  async #runFirst({ first, again }: IdempotentPush<Answer>, receipt: PushReceipt): Promise<Answer> {
    const earlier = await this.#commitLog.findReceipt(receipt.id);
    if (earlier === undefined || earlier.atMs <= receipt.atMs - this.#receiptMs) return first(receipt);
    assertSameBody(earlier.bodyHash, receipt.bodyHash);
    return again(earlier.answer);
  }
}

function assertSameBody(first: string, now: string): void {
  if (first === now) return;
  throw new Refusal('conflict', 'This Idempotency-Key was used before with another body. Use a new key for new data.');
}
