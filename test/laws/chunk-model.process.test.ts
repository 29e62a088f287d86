// Runs chunk-model.suite.ts with tiny limits in each thread of a process of its own.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Running, root } from '../support/process.ts';

const tiny = {
  chunkDatapointsWanted: 8,
  chunkDatapointsMax: 20,
  chunkTextCharsWanted: 200,
  chunkBytesFull: 120,
  logRowDatapointsMax: 5,
  retentionChunksMax: 3,
  editStepPieces: 2,
  mainThreadReadRows: 3,
  decodedBytesMax: 500,
  clearRowsStep: 2,
  clearDatapointsStep: 7,
};

test('many small chunks read as a sorted array does', { timeout: 1_800_000 }, async (t) => {
  const { PATH, DUNDUN_TEST_SEED, DUNDUN_TEST_LONG, DUNDUN_TEST_POSTGRES, DUNDUN_TEST_POSTGRES_FOLDER } = process.env;
  const run = new Running(
    [
      process.execPath,
      '--import',
      join(root, 'test/support/tight-limits.ts'),
      join(root, 'test/laws/chunk-model.suite.ts'),
    ],
    {
      settings: {
        ...{ PATH, DUNDUN_TEST_SEED, DUNDUN_TEST_LONG, DUNDUN_TEST_POSTGRES, DUNDUN_TEST_POSTGRES_FOLDER },
        DUNDUN_TEST_LIMITS: JSON.stringify(tiny),
      },
    },
  );
  const { code } = await run.exit;
  t.diagnostic(/properties: .*/.exec(run.stdout)?.[0] ?? '');
  assert.equal(code, 0, run.stdout + run.stderr);
});
