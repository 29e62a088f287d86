// What is handed to the writer (writer.ts), and how its outcome is told.
import type { Caller } from '../../callers/caller.ts';
import type { PushReceipt } from '../datapoint-batch.ts';
import type { Push } from './push.ts';

/** Pushes that are stored together or not at all, and what is kept beside them. */
export interface AppendRequest {
  readonly pushes: readonly Push[];
  readonly receipt?: PushReceipt | undefined;
  /** Whose share of the queue it takes; left out: work of the service itself, which is done after all that came before. */
  readonly caller?: Caller;
}

/** Called once: without an error after the commit, else with the reason why nothing was stored. */
export type AppendCallback = (error?: unknown) => void;
