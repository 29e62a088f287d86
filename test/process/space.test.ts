// Space of removed data and of the sealed log is returned to the file system while the service runs.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { SeededRandom } from '../support/dice.ts';
import { call, type Dundun, figuresOf, makeDevice, startDundun, withLimits } from '../support/process.ts';
import { until } from '../support/until.ts';

const eager = { freePagesKept: 20, freePagesEveryMs: 20, walPagesMax: 10 };
/** All is sealed, and the service is at rest, soon after the last push. */
const soonAtRest = { ...eager, sealQuietRowsMin: 1, sealQuietMs: 50 };
/** Never at rest; the log is sealed when it is long enough, and what is free is looked at for as long. */
const neverAtRest = { ...eager, sealQuietMs: 3_600_000, sealRowsMin: 60_000 };
const stepMs = 100;

suite('the database file becomes smaller', { timeout: 1_800_000 }, () => {
  test('when a sensor is removed', async () => {
    const dundun = await startDundun(withLimits(soonAtRest));
    await makeDevice(dundun, 'd', ['s', 't']);
    const emptySize = sizeOf(dundun);
    await fill(dundun);
    await becomesInUse(dundun, () => sizeOf(dundun) > emptySize + 700_000);
    const removed = await call(dundun, '/api/v2/devices/d/sensors/s', { method: 'DELETE' });
    assert.equal(removed.status, 204);
    await becomesInUse(dundun, () => sizeOf(dundun) < emptySize + 300_000);
    await dundun.stop();
  });

  test('when the log has been sealed and nothing comes any more', async () => {
    const dundun = await startDundun(withLimits(soonAtRest));
    await makeDevice(dundun, 'd', ['s', 't']);
    await fill(dundun);
    // Of full precision, a datapoint takes eight bytes in chunks and 32 in the log.
    await becomes(dundun, () => sizeOf(dundun) < 1_900_000);
    assert.equal((await call(dundun, '/api/v2/devices/d/sensors/s/values?limit=1')).status, 200);
    await dundun.stop();
  });

  test('where datapoints keep coming, by what was free for a while', async () => {
    const dundun = await startDundun(withLimits({ ...neverAtRest, freePagesSpanMs: 300 }));
    await makeDevice(dundun, 'd', ['s', 't']);
    await fill(dundun);
    await becomesInUse(dundun, () => sizeOf(dundun) < 1_900_000);
    await dundun.stop();
  });

  test('not by what the log is about to need again', async () => {
    const dundun = await startDundun(withLimits(neverAtRest));
    await makeDevice(dundun, 'd', ['s', 't']);
    await fill(dundun);
    await becomes(dundun, async () => (await datapointsInLog(dundun)) === 0);
    const size = sizeOf(dundun);
    assert.ok(size > 2_500_000, `the file has ${size} bytes`);
    // Nothing may happen in two seconds: a hundred looks at what is free.
    for (let round = 0; round < 20; round++) {
      await trickle(dundun);
      await pause(stepMs);
    }
    assert.ok(sizeOf(dundun) >= size, `the file had ${size} bytes, and has ${sizeOf(dundun)}`);
    await dundun.stop();
  });
});

function sizeOf({ folder }: Dundun): number {
  return statSync(join(folder, 'dundun.sqlite')).size;
}

/** So many values of full precision that the log takes four megabytes, and their chunks one. */
async function fill(dundun: Dundun): Promise<void> {
  const random = new SeededRandom(1);
  for (let n = 0; n < 4; n++) {
    const json = Array.from({ length: 30_000 }, () => ({ value: random.between(0, 2 ** 31) / 7 }));
    assert.equal((await call(dundun, '/api/v2/devices/d/sensors/s/values', { json })).status, 204);
  }
}

/** Waits while nothing comes. */
function becomes(dundun: Dundun, isThere: () => boolean | Promise<boolean>): Promise<void> {
  return until(isThere, { everyMs: stepMs, otherwise: () => `The file has ${sizeOf(dundun)} bytes.` });
}

/** Waits while a datapoint comes now and then; between two it is quiet for long enough to seal. */
function becomesInUse(dundun: Dundun, isThere: () => boolean): Promise<void> {
  return becomes(dundun, async () => isThere() || (await trickle(dundun)));
}

/** Has a commit made; nothing is there by that. */
async function trickle(dundun: Dundun): Promise<false> {
  await call(dundun, '/api/v2/devices/d/sensors/t/values', { json: { value: 1 } });
  return false;
}

async function datapointsInLog(dundun: Dundun): Promise<number> {
  const text = await figuresOf(dundun);
  return Number(/^dundun_log_datapoints (\d+)/m.exec(text)?.[1] ?? Number.NaN);
}
