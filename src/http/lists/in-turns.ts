// Steps of lists that the main thread writes, each when it is the caller's turn.
import type { Caller } from '../../domain/callers/caller.ts';
import { loopTurns } from '../../domain/callers/loop-turns.ts';

/** Waits for the caller's turn before each step, which is made into text at once. */
export async function* inTurns<S>(steps: AsyncGenerator<S>, caller: Caller): AsyncGenerator<S> {
  for await (const step of steps) {
    await loopTurns.turn(caller);
    yield step;
  }
}
