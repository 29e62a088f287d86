// Runs a push once under an Idempotency-Key, or, where there is none, under its body (contract 5, decision 36). A repeat
// stores nothing and gets the first answer, also while the first push is in progress and after a crash. Used by ingest.ts,
// bulk.ts and imports.ts, which store the receipt in the same commit as the push, so that either both exist or neither.
import { createHash } from 'node:crypto';
import { Refusal } from '../../../base/refusal.ts';
import type { AgeClocks } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type { SensorKey } from '../../devices/sensor.ts';
import type { CommitLog } from '../../ports/commit-log.ts';
import { type PushReceipt, repeatIdPrefix } from '../datapoint-batch.ts';

/** Identifies a push, so that its repeat is recognised. */
export interface IdempotencyKey {
  readonly key: string;
  /** The method and path that the key belongs to. */
  readonly endpoint: string;
  readonly body: Uint8Array;
}

/** Identifies a push without a key by what it says: gateways repeat it as it was when its answer was lost. */
export interface PushedBody {
  /** The method and path that the body was sent to. */
  readonly endpoint: string;
  /** SHA-256 of the body. */
  readonly hash: string;
}

/** What the guard needs of the commit log. */
/** Between which times a receipt counts. */
type ReceiptTimes = Parameters<CommitLog['claimReceipt']>[1];

export type ReceiptClaims = Pick<CommitLog, 'claimReceipt' | 'releaseClaim'>;

/** A push that must be stored once. */
interface OncePush<Answer> {
  /** The caller; keys and bodies of different callers are independent. */
  readonly caller: string;
  /** Runs the push and stores the receipt with it, adding the text of the answer. */
  readonly first: (receipt: PushReceipt) => Promise<Answer>;
  /** Restores the answer from the text in the receipt. */
  readonly again: (answer: string) => Answer;
}

interface KeyedPush<Answer> extends OncePush<Answer> {
  readonly key: IdempotencyKey;
  /**
   * Added to the path, where the same path may come to mean something else (a sensor created again), or a request has
   * parts.
   */
  readonly part?: string | number;
}

interface UnkeyedPush<Answer> extends OncePush<Answer> {
  readonly sensor: SensorKey;
  readonly body: PushedBody;
}

export class IdempotencyGuard<Answer> {
  readonly #commitLog: ReceiptClaims;
  readonly #clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
  readonly #receiptMs: number;
  readonly #repeatMs: number;
  /** Pushes in progress, so that a repeat waits for the first. */
  readonly #pending = new Map<string, { readonly bodyHash: string; readonly done: Promise<Answer> }>();

  constructor(parts: {
    readonly commitLog: ReceiptClaims;
    readonly clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
    readonly receiptHours: number;
    /** How long a body is remembered, at most as long as a key; undefined: not at all. */
    readonly repeatMs?: number | undefined;
  }) {
    this.#commitLog = parts.commitLog;
    this.#clocks = parts.clocks;
    this.#receiptMs = parts.receiptHours * 3_600_000;
    this.#repeatMs = Math.min(parts.repeatMs ?? 0, this.#receiptMs);
  }

  /**
   * Runs the push, or returns the answer of its first run. @throws Refusal `conflict` when the key came with another
   * body before; and what `first` throws.
   */
  async run(push: KeyedPush<Answer>): Promise<Answer> {
    const { caller, key, part = '' } = push;
    const bodyHash = createHash('sha256').update(key.body).digest('base64');
    const { forAge, forExpiry } = this.#clocks;
    // A receipt that is too young is harmless; one that is too old lets its push be stored twice.
    const sinceMs = forAge.now() - this.#receiptMs;
    const id = `${caller}\n${key.endpoint}\n${part}\n${key.key}`;
    const receipt = { id, caller, bodyHash, answer: '', atMs: forExpiry.now(), sinceMs };
    return this.#runOnce(push, receipt, { sinceMs });
  }

  /** Whether bodies are remembered. */
  get detectsRepeats(): boolean {
    return this.#repeatMs > 0;
  }

  /** Runs the push, or does nothing where the same body was stored a short while ago. @throws what `first` throws. */
  async runUnkeyed(push: UnkeyedPush<Answer>): Promise<Answer> {
    const { caller, sensor, body } = push;
    const { forAge, forExpiry } = this.#clocks;
    const id = `${repeatIdPrefix(sensor)}${caller}\n${body.endpoint}\n${body.hash}`;
    // Dated back, because all receipts go when they are as old as those of keys. `forExpiry` alone decides, and what came
    // while the clock was ahead does not count, so that no body is remembered for longer: in doubt it is stored.
    const atMs = forExpiry.now() - this.#receiptMs + this.#repeatMs;
    const receipt = {
      id,
      // Counted apart from the caller's keys, which live longer.
      caller: `${caller} repeats`,
      bodyHash: '',
      answer: '',
      atMs,
      sinceMs: forAge.now() - this.#receiptMs,
    };
    const sinceMs = forExpiry.now() - this.#receiptMs;
    return this.#runOnce(push, receipt, { sinceMs, untilMs: atMs + limits.clockDifferenceMsMax });
  }

  async #runOnce(
    push: OncePush<Answer>,
    receipt: PushReceipt & { sinceMs: number },
    times: ReceiptTimes,
  ): Promise<Answer> {
    const { id, bodyHash } = receipt;
    const first = this.#pending.get(id);
    if (first !== undefined) {
      assertSameBody(first.bodyHash, bodyHash);
      return first.done;
    }
    const done = this.#runFirst(push, receipt, times).finally(() => this.#pending.delete(id));
    this.#pending.set(id, { bodyHash, done });
    return done;
  }

  async #runFirst({ first, again }: OncePush<Answer>, receipt: PushReceipt, times: ReceiptTimes): Promise<Answer> {
    const { id } = receipt;
    const earlier = await this.#commitLog.claimReceipt(id, times);
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
