// Imported before the service in crash tests (`node --import`), in each of its threads: the wall clock differs from that of the
// machine by the milliseconds in a file, which the test may rewrite at any time, as a person or NTP moves a clock. The
// monotonic clock goes on. Used by rough-machine.ts.
import { readFileSync } from 'node:fs';

const file = process.env['DUNDUN_TEST_CLOCK'];
const lookMs = 20;

if (file !== undefined) {
  const { now } = Date;
  let differenceMs = 0;
  const look = () => {
    differenceMs = Number(readFileSync(file, 'utf8'));
  };
  look();
  setInterval(look, lookMs).unref();
  Date.now = () => now() + differenceMs;
}
