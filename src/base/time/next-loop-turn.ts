/** Resolves when what has come meanwhile has had its turn of the event loop. */
export function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
