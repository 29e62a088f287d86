// Waits for a condition that no event announces: checks every few milliseconds until it is true. Where there is an
// event or `server.idle()`, a test waits for that instead.

interface Patience {
  readonly everyMs?: number;
  readonly msMax?: number;
  /** What a failure adds to its message: how things stand then. */
  readonly otherwise?: () => unknown;
}

/** Resolves when `isSo` gives true. @throws Error after `msMax` milliseconds, which no test should come near. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  { everyMs = 10, msMax = 120_000, otherwise = () => '' }: Patience = {},
): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`It was not so within ${msMax} ms. ${await otherwise()}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
