// A clock that is trusted again: tests that turn the wall clock begin with it.
import { make } from './api/calls.ts';
import type { TestServer } from './test-server.ts';

const steadyMs = 5 * 60_000;

/** Lets the clock be steady, and all that waited for it be done. */
export async function settleClock(server: TestServer): Promise<void> {
  await server.running.idle();
  server.clock.advance(steadyMs);
  await server.running.idle();
}

/** An admin confirms the wall clock: it is trusted, and expiries go by it. */
export async function confirmClock(server: TestServer): Promise<void> {
  const json = { time: new Date(server.clock.now()).toISOString() };
  await make(server, { as: 'admin', call: 'PUT /settings/clock', json, expect: 204 });
  // Tokens of a clock that was ahead are good no longer.
  server.jump(0);
  await settleClock(server);
}
