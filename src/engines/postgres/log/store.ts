// The interface by which the main thread has chunks changed. threads/store-thread-client.ts implements it by the store thread.
import { refusalOf, type WriteFailure } from '../../shared/write-failure.ts';
import type { StoreWork } from './store-protocol.ts';

/** Work that could not be done. */
export class StoreFailure extends Error {
  readonly failure: WriteFailure;

  constructor(failure: WriteFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** What the caller of failed work is told. */
export function refusalOfWork(error: unknown): Error {
  return error instanceof StoreFailure ? refusalOf(error.failure) : (error as Error);
}

export interface Store {
  /** @throws Refusal `damaged`; StoreFailure */
  ask<Kind extends keyof StoreWork>(kind: Kind, order: StoreWork[Kind]['order']): Promise<StoreWork[Kind]['result']>;
}
