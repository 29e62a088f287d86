// The write-ahead log has changed on the disk behind a SIGKILL. SQLite drops what is behind the first frame whose checksum
// is wrong: what was acknowledged is put right or told as lost, and where nothing is lost nothing is told.
import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { SeededRandom } from '../../support/dice.ts';
import {
  call,
  Dundun,
  figuresOf,
  makeDevice,
  makeFolder,
  readValues,
  runVerb,
  startDundun,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { cutBehind, flipBit, frameOffset, framesOf, overwrite, walPath } from '../../support/wal.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const pushes = 40;
const all = Array.from({ length: pushes }, (_, n) => n + 1);

suite('a damaged write-ahead log', { timeout: 1_800_000 }, () => {
  let folder = '';
  let random: SeededRandom;

  /** A folder in whose write-ahead log lie many acknowledged commits. */
  before(async () => {
    random = new SeededRandom();
    const dundun = await startDundun();
    await makeDevice(dundun, 'd', ['s']);
    for (const value of all) await push(dundun, value);
    await dundun.stop('SIGKILL');
    folder = dundun.folder;
  });

  test('in which one bit has changed is put right, or what is lost behind it is told', async (t) => {
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const { frames, commits } = framesOf(folder);
    for (let round = 0; round < (isLong ? 200 : 3); round++) {
      const copy = copyOf(folder);
      // Of the header more often than it has bits.
      const end = random.oneIn(4) ? frameOffset(1) : frameOffset(frames + 1);
      const bit = random.between(0, 8 * end);
      flipBit(walPath(copy), bit);
      // Without its index nobody can know that the last commit was acknowledged.
      const isLast = bit >= 8 * frameOffset((commits.at(-2) as number) + 1);
      if (!isLast && random.oneIn(2)) rmSync(join(copy, 'dundun.sqlite-shm'));
      const dundun = await startDundun({ folder: copy });
      const values = (await valuesOf(dundun)) as number[];
      const what = `bit ${bit} of ${8 * end}`;
      assert.deepEqual(values, all.slice(0, values.length), what);
      const isWhole = values.length === pushes;
      const told = isWhole ? /have changed on the disk, in one place/ : /The write-ahead log was damaged at/;
      assert.match(dundun.stderr, told, what);
      assert.match(await readinessOf(dundun), isWhole ? /^ok$/ : /acknowledged writes were lost/, what);
      await dundun.stop();
    }
  });

  test('with many changed bytes loses what is behind them, and says so until that is forgotten', async (t) => {
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    for (let round = 0; round < (isLong ? 100 : 2); round++) {
      const copy = copyOf(folder);
      const { frames } = framesOf(copy);
      const frame = random.between(1, frames + 1);
      overwrite(walPath(copy), frameOffset(frame) + random.between(24, 3000), random.between(2, 1000));
      await assertTold(copy, `frame ${frame} of ${frames}`);
    }
  });

  const damages: readonly (readonly [does: string, damage: (copy: string) => void])[] = [
    ['of which many bytes of the header have changed', (copy) => overwrite(walPath(copy), 4, 20)],
    ['that was cut short', (copy) => cutBehind(copy, framesOf(copy).frames - 5)],
    [
      'that was cut within the last frame',
      (copy) => overwrite(walPath(copy), frameOffset(framesOf(copy).frames), 4000),
    ],
    [
      'of which the index is missing as well',
      (copy) => {
        rmSync(join(copy, 'dundun.sqlite-shm'));
        overwrite(walPath(copy), frameOffset(Math.floor(framesOf(copy).frames / 2)) + 100, 100);
      },
    ],
  ];
  for (const [does, damage] of damages) {
    test(`${does} is told`, async () => {
      const copy = copyOf(folder);
      damage(copy);
      await assertTold(copy, does);
    });
  }

  test('is found by a check before the start, which takes nothing from what the start says', async () => {
    const copy = copyOf(folder);
    const { frames } = framesOf(copy);
    // Of the last commit: the index alone knows that it was acknowledged, and SQLite writes that anew.
    overwrite(walPath(copy), frameOffset(frames) + 100, 100);
    const { code, stdout } = await runVerb(['check', copy]);
    assert.equal(code, 1, stdout);
    assert.match(
      stdout,
      /^write-ahead log: The write-ahead log was damaged at frame \d+: at least 1 acknowledged commit is lost/,
    );
    await assertTold(copy, 'after a check');
  });

  test('says which datapoints are lost', async () => {
    const copy = copyOf(folder);
    const { commits } = framesOf(copy);
    // The last ten commits.
    overwrite(walPath(copy), frameOffset((commits.at(-11) as number) + 1) + 100, 100);
    const dundun = await startDundun({ folder: copy });
    const values = (await valuesOf(dundun)) as number[];
    const told = /with the datapoints (\d+) to (\d+)/.exec(dundun.stderr);
    assert.deepEqual([Number(told?.[1]), Number(told?.[2])], [values.length + 1, pushes], dundun.stderr);
    await dundun.stop();
  });

  test('is not told where nothing acknowledged is missing', async () => {
    const { frames } = framesOf(folder);
    const harmless: readonly ((copy: string) => void)[] = [
      () => {},
      (copy) => rmSync(join(copy, 'dundun.sqlite-shm')),
      // A commit that was not finished: its frames came to the disk in part, and not its index.
      (copy) => {
        rmSync(join(copy, 'dundun.sqlite-shm'));
        overwrite(walPath(copy), frameOffset(frames) + 100, 2000);
      },
      // A log that is empty, as after a checkpoint that cuts it off.
      (copy) => {
        for (const end of ['-wal', '-shm']) rmSync(join(copy, `dundun.sqlite${end}`));
        writeFileSync(walPath(copy), '');
      },
    ];
    for (const [number, change] of harmless.entries()) {
      const copy = copyOf(folder);
      change(copy);
      const dundun = new Dundun({ folder: copy });
      await dundun.ready;
      assert.doesNotMatch(dundun.stderr, /damaged|have changed/, `change ${number}`);
      await dundun.stop();
      assert.deepEqual(remembered(copy), []);
    }
  });
});

/** What was acknowledged and is missing is told by log, readiness, metric and check, at each start until it is forgotten. */
async function assertTold(folder: string, what: string): Promise<void> {
  let dundun = await startDundun({ folder });
  const values = (await valuesOf(dundun)) as number[];
  assert.deepEqual(values, all.slice(0, values.length), what);
  for (let start = 0; start < 2; start++) {
    assert.match(dundun.stderr, /"level":50.*The write-ahead log was damaged at .*: at least \d+ acknowledged/, what);
    assert.match(await readinessOf(dundun), /acknowledged writes were lost by damage on the disk/);
    assert.match(await figuresOf(dundun), /^dundun_storage_losses 1$/m);
    await dundun.stop();
    const { code, stdout } = await runVerb(['check', folder]);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /^write-ahead log: The write-ahead log was damaged at/);
    dundun = await startDundun({ folder });
  }
  const kept = remembered(folder);
  assert.equal(kept.filter((name) => name.endsWith('.json')).length, 1);
  const forgotten = await runVerb(['check', folder, '--forget-damaged']);
  assert.deepEqual([forgotten.code, remembered(folder)], [0, []], forgotten.stdout);
  assert.match(forgotten.stderr, /and 1 losses by a damaged write-ahead log/);
  await until(async () => (await readinessOf(dundun)) === 'ok');
  assert.match(await figuresOf(dundun), /^dundun_storage_losses 0$/m);
  await dundun.stop();
  assert.equal((await runVerb(['check', folder])).code, 0);
}

async function push(dundun: Dundun, value: number): Promise<void> {
  const answer = await call(dundun, '/api/v2/devices/d/sensors/s/values', { json: { value } });
  assert.equal(answer.status, 204);
}

/** Undefined values mean that the device itself was lost. */
async function valuesOf(dundun: Dundun): Promise<unknown[]> {
  const { status } = await call(dundun, '/api/v2/devices/d');
  return status === 404 ? [] : readValues(dundun, 'd', 's');
}

async function readinessOf(dundun: Dundun): Promise<string> {
  const answer = await call(dundun, '/health/ready');
  assert.equal(answer.status, 200);
  return ((await answer.json()) as { status: string }).status;
}

function remembered(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('damaged-wal-'));
}

function copyOf(folder: string): string {
  const copy = join(makeFolder(), 'data');
  cpSync(folder, copy, { recursive: true });
  return copy;
}
