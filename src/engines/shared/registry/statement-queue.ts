// What statements weigh that wait for their commit, and when no more may wait. For the writer of every engine.
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';

/** What waits, or wants to. */
export interface QueueWeight {
  readonly statements: number;
  readonly bytes: number;
}

/**
 * While the queue is below its bound, a unit of any size is accepted, so that a large one can be written at all. Small
 * ones are accepted beyond it, bounded by their number.
 * @throws Refusal `busy`
 */
export function assertQueueHasRoom(waiting: QueueWeight, unit: QueueWeight): void {
  const isTooMuch = unit.bytes > limits.smallUnitBytesMax && waiting.bytes >= limits.queueStatementBytesMax;
  if (isTooMuch || waiting.statements + unit.statements > limits.queueStatementsMax) {
    throw new Refusal('busy', 'More changes arrive than can be stored. Send the request again.', {
      retryAfterS: limits.busyRetryAfterS,
    });
  }
}

/** Estimated bytes of statements until they are committed, without copies of the engine's own. */
export function bytesOf(statements: readonly { readonly parameters: readonly unknown[] }[]): number {
  let bytes = 0;
  for (const { parameters } of statements) {
    bytes += statementBytes;
    for (const parameter of parameters) {
      if (typeof parameter === 'string') bytes += 2 * parameter.length;
      else if (parameter instanceof Uint8Array) bytes += parameter.length;
    }
  }
  return bytes;
}

const statementBytes = 200;
