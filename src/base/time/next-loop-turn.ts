/** Resolves in the next turn of the event loop, after events that are already waiting were handled. */
export function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
