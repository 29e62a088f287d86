// What is removed gives its space back to the file system, while the service runs.
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Dice } from './support/dice.ts';
import { call, makeDevice, startDundun, withLimits } from './support/process.ts';

const eager = { freePagesKept: 20, freePagesEveryMs: 20, sealQuietRowsMin: 1, sealQuietMs: 50, walPagesMax: 10 };

test('the database file becomes smaller when a sensor is removed', { timeout: 120_000 }, async (t) => {
  const dice = new Dice();
  t.diagnostic(`DUNDUN_TEST_SEED=${dice.seed}`);
  const dundun = await startDundun(withLimits(eager));
  await makeDevice(dundun, 'd', ['s', 't']);
  const sizeOf = () => statSync(join(dundun.folder, 'dundun.sqlite')).size;
  const until = async (isThere: () => boolean) => {
    for (let round = 0; round < 500 && !isThere(); round++) {
      // A commit now and then lets the write-ahead log go into the file; between two it is quiet for long enough to seal.
      await call(dundun, '/api/v2/devices/d/sensors/t/values', { json: { value: round } });
      await pause(eager.sealQuietMs * 2);
    }
    assert.ok(isThere(), `the file has ${sizeOf()} bytes`);
  };
  const emptySize = sizeOf();
  for (let n = 0; n < 4; n++) {
    const json = Array.from({ length: 30_000 }, () => ({ value: dice.between(0, 2 ** 31) / 7 }));
    await call(dundun, '/api/v2/devices/d/sensors/s/values', { json });
  }
  await until(() => sizeOf() > emptySize + 700_000);
  const removed = await call(dundun, '/api/v2/devices/d/sensors/s', { method: 'DELETE' });
  assert.equal(removed.status, 204);
  await until(() => sizeOf() < emptySize + 300_000);
  await dundun.stop();
});
