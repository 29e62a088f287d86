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
  for (;;) {
    const leftMs = Math.max(everyMs, endMs - performance.now());
    if (await within(isSo(), leftMs, async () => `The question was not answered. ${await otherwise()}`)) return;
    if (performance.now() > endMs) throw new Error(`It was not so within ${msMax} ms. ${await otherwise()}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** The result of `work`. @throws Error with what `otherwise` says where it takes longer than `msMax`, which no test should come near. */
export async function within<T>(work: T | Promise<T>, msMax: number, otherwise: () => unknown): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), msMax);
  try {
    const first = await Promise.race([work.then((result) => ({ result })), late]);
    if (first === undefined) throw new Error(`It took longer than ${msMax} ms. ${await otherwise()}`);
    return first.result;
  } finally {
    clearTimeout(timer);
  }
}
