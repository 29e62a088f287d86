// A request to the writer (writer.ts), and the callback with its result.
import type { Caller } from '../../callers/caller.ts';
import type { PushReceipt } from '../datapoint-batch.ts';
import type { Push } from './push.ts';

/** Pushes that are stored together or not at all, with their receipt. */
export interface AppendRequest {
  readonly pushes: readonly Push[];
  readonly receipt?: PushReceipt | undefined;
  /**
   * The caller whose share of the queue it uses. Absent for work of the service, which runs after everything before
   * it.
   */
  readonly caller?: Caller;
}

/** Called once: without an error after the commit, otherwise with the reason why nothing was stored. */
export type AppendCallback = (error?: unknown) => void;
