// `dundun backup` and `dundun restore`: a backup holds one moment of a service under load; it is complete or refused,
// whichever process is killed.
import assert from 'node:assert/strict';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Ledger } from '../../support/crash/ledger.ts';
import { LossyDisk, withoutPowerCuts } from '../../support/crash/lossy-disk.ts';
import { push, startPusher } from '../../support/crash/pushers.ts';
import { query, tamper } from '../../support/database.ts';
import { SeededRandom } from '../../support/dice.ts';
import {
  Dundun,
  login,
  makeDevice,
  makeFolder,
  readValues,
  runVerb,
  startDundun,
  startRefused,
  startVerb,
  type VerbOutcome,
} from '../../support/process.ts';
import { until } from '../../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';

/** Of the disk, a few more than restoring a small backup takes. */
const restoreSteps = 26;

const run = (folder: string, ...args: string[]) => runVerb(args, { settings: { DUNDUN_DATA_DIR: folder } });
const done = ({ code, stderr }: VerbOutcome) => assert.equal(code, 0, stderr);

suite('a backup', { timeout: 1_800_000 }, () => {
  test('made beside a server under load is one moment of it, and a service goes on from there', async () => {
    const dundun = await startDundun();
    const earlier = new Ledger('earlier');
    const during = new Ledger('during');
    await makeDevice(dundun, 'earlier', ['s']);
    await makeDevice(dundun, 'during', ['s']);
    for (let i = 0; i < 30; i++) await push({ server: dundun, ledger: earlier }, earlier.enter('s', 2000));
    const pushers = [1, 2].map(() => startPusher({ server: dundun, ledger: during, sensor: 's', size: () => 100 }));
    const file = join(makeFolder(), 'backup');
    const made = await run(dundun.folder, 'backup', file);
    for (const pusher of pushers) pusher.stop();
    await Promise.all(pushers.map((pusher) => pusher.done));
    done(made);
    assert.match(made.stdout, /^Backed up .*: [\d.]+ MB, \d+ checks, all is well\. It holds secrets/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(dirname(file)), ['backup']);
    const allDuring = await readValues(dundun, 'during', 's');
    await dundun.stop();

    const folder = join(makeFolder(), 'data');
    const restored = await run(folder, 'restore', file);
    done(restored);
    assert.match(restored.stdout, /to the state of 20\d\d-/);
    const again = await startDundun({ folder });
    await earlier.verify(again);
    const some = await readValues(again, 'during', 's');
    assert.equal(some.length % 100, 0, 'an array is there in part');
    assert.deepEqual(some, allDuring.slice(0, some.length));
    assert.equal(typeof (await login(again)), 'string');
    await push({ server: again, ledger: earlier }, earlier.enter('s'));
    await earlier.verify(again);
    await again.stop();
    done(await run(folder, 'check'));
  });

  test('is made of the folder of a service that was killed, with all that was acknowledged', async () => {
    const dundun = await startDundun();
    const ledger = new Ledger('d');
    await makeDevice(dundun, 'd', ['s']);
    for (let i = 0; i < 20; i++) await push({ server: dundun, ledger }, ledger.enter('s', 500));
    await dundun.stop('SIGKILL');
    const file = join(makeFolder(), 'backup');
    done(await run(dundun.folder, 'backup', file));
    const folder = join(makeFolder(), 'data');
    done(await run(folder, 'restore', file));
    const again = await startDundun({ folder });
    await ledger.verify(again);
    await again.stop();
  });

  test('can be read and restored by hand, as its last page says', async () => {
    const { folder, file } = await aBackup();
    const bytes = readFileSync(file);
    const seal = bytes.subarray(-4096).toString('latin1');
    assert.match(seal, /^dundun backup 1\nmade: .*\nform: .*\nbytes: \d+\nsha256: [0-9a-f]{64}\n/);
    assert.match(seal, /head -c -4096 FILE > dundun\.sqlite/);
    const byHand = join(makeFolder(), 'data');
    mkdirSync(byHand);
    writeFileSync(join(byHand, 'dundun.sqlite'), bytes.subarray(0, -4096));
    done(await run(byHand, 'check'));
    assert.deepEqual(query(byHand, 'SELECT username FROM user'), query(folder, 'SELECT username FROM user'));
  });
});

suite('a backup is refused', { timeout: 1_800_000 }, () => {
  let folder = '';
  let file = '';
  before(async () => {
    ({ folder, file } = await aBackup());
  });

  test('over a file that is there, unless forced; inside the data folder; and without data', async () => {
    const bytes = readFileSync(file);
    const taken = await run(folder, 'backup', file);
    assert.equal(taken.code, 1);
    assert.match(taken.stderr, /is there already.*--force/);
    assert.deepEqual(readFileSync(file), bytes);
    done(await run(folder, 'backup', file, '--force'));
    done(await run(folder, 'check', file));
    const inside = await run(folder, 'backup', join(folder, 'backup'));
    assert.deepEqual([inside.code, existsSync(join(folder, 'backup'))], [1, false]);
    assert.match(inside.stderr, /Choose a place outside/);
    const nowhere = await run(join(makeFolder(), 'none'), 'backup', join(makeFolder(), 'b'));
    assert.equal(nowhere.code, 1);
    assert.match(nowhere.stderr, /There is no data in/);
  });

  test('where the data is damaged, with the findings, unless it is wanted like that', async () => {
    const damaged = copyFolder(folder);
    tamper(damaged, 'INSERT INTO latest VALUES (77, 1, 1, 1, 1, 1.5)');
    const target = join(makeFolder(), 'backup');
    const refused = await run(damaged, 'backup', target);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /removed sensors: .*sensor number 77[\s\S]*no backup was made/);
    assert.deepEqual(readdirSync(dirname(target)), []);
    done(await run(damaged, 'backup', target, '--damaged'));
    const into = join(makeFolder(), 'data');
    const notRestored = await run(into, 'restore', target);
    assert.equal(notRestored.code, 1);
    assert.match(notRestored.stderr, /removed sensors[\s\S]*nothing was restored/);
    assert.equal(existsSync(join(into, 'dundun.sqlite')), false);
    done(await run(into, 'restore', target, '--damaged'));
  });
});

suite('a restore is refused', { timeout: 1_800_000 }, () => {
  let folder = '';
  let file = '';
  before(async () => {
    ({ folder, file } = await aBackup());
  });

  test('into a folder that a server uses, whatever is asked', async () => {
    const dundun = await startDundun();
    for (const more of [[], ['--replace']]) {
      const { code, stderr } = await run(dundun.folder, 'restore', file, ...more);
      assert.equal(code, 1);
      assert.match(stderr, /already uses the data folder/);
    }
    await dundun.stop();
  });

  test('into a folder with data, unless that is to be lost', async () => {
    const dundun = await startDundun();
    await makeDevice(dundun, 'lost', ['s']);
    await dundun.stop('SIGKILL');
    const refused = await run(dundun.folder, 'restore', file);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /is not empty.*--replace/);
    assert.equal(query(copyFolder(dundun.folder), 'SELECT id FROM device').length, 1);
    done(await run(dundun.folder, 'restore', file, '--replace'));
    done(await run(dundun.folder, 'check'));
    // What the killed server left in its write-ahead log is not taken for the new database's.
    assert.deepEqual(query(dundun.folder, 'SELECT id FROM device'), query(folder, 'SELECT id FROM device'));
  });

  const spoiled: Record<string, (path: string) => void> = {
    'is cut off': (path) => truncateSync(path, statSync(path).size - 5000),
    'has no seal': (path) => truncateSync(path, statSync(path).size - 4096),
    'has one bit turned': (path) => {
      const bytes = readFileSync(path);
      const at = 4096 * 5 + 77;
      bytes[at] = (bytes[at] as number) ^ 4;
      writeFileSync(path, bytes);
    },
    'has something behind its end': (path) => appendFileSync(path, 'x'),
    'is empty': (path) => truncateSync(path, 0),
    'is something else': (path) => writeFileSync(path, 'sqlite'.repeat(10_000)),
  };
  for (const [name, spoil] of Object.entries(spoiled)) {
    test(`of a file that ${name}`, async () => {
      const path = join(makeFolder(), 'backup');
      copyFileSync(file, path);
      spoil(path);
      const into = join(makeFolder(), 'data');
      const { code, stderr } = await run(into, 'restore', path);
      assert.equal(code, 1);
      assert.match(stderr, /is no finished backup|has changed since it was made/);
      assert.equal(
        readdirSync(into).some((entry) => entry.startsWith('dundun')),
        false,
      );
      assert.notEqual((await run(into, 'check', path)).code, 0);
    });
  }

  test('of data written by a newer Dundun', async () => {
    const newer = copyFolder(folder);
    tamper(newer, "INSERT INTO kysely_migration VALUES ('9999-later', '2030-01-01')");
    const { code, stderr } = await run(newer, 'backup', join(makeFolder(), 'backup'));
    assert.equal(code, 1);
    assert.match(stderr, /newer Dundun \(9999-later\)/);
  });
});

suite('a kill', { timeout: isLong ? 3_600_000 : 1_800_000 }, () => {
  const kills = isLong ? 60 : 6;

  test('of a backup leaves no file, or a whole one, and the next one tidies up', async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const dundun = await filledDundun();
    const file = join(makeFolder(), 'backup');
    let cutOff = 0;
    for (let i = 0; i < kills; i++) {
      const isWriting = () => readdirSync(dirname(file)).some((name) => name.endsWith('.partial'));
      await killed({ random, isWriting, folder: dundun.folder }, 'backup', file, '--force');
      if (readdirSync(dirname(file)).some((name) => name.endsWith('.partial'))) cutOff += 1;
      if (existsSync(file)) done(await run(dundun.folder, 'check', file));
    }
    t.diagnostic(`${cutOff} of ${kills} were cut off while they wrote`);
    done(await run(dundun.folder, 'backup', file, '--force'));
    assert.deepEqual(readdirSync(dirname(file)), ['backup']);
    await dundun.stop();
    done(await run(dundun.folder, 'check'));
  });

  test('of the server does not spoil the backup that is being made', async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    let dundun = await filledDundun();
    const file = join(makeFolder(), 'backup');
    for (let i = 0; i < Math.ceil(kills / 2); i++) {
      const ledger = new Ledger(`d${i}`);
      await makeDevice(dundun, ledger.device, ['s']);
      const pusher = startPusher({ server: dundun, ledger, sensor: 's', size: () => 50 });
      const backup = run(dundun.folder, 'backup', file, '--force');
      // At any moment of the copying.
      await pause(random.between(300, 900));
      await dundun.stop('SIGKILL');
      await pusher.done;
      done(await backup);
      dundun = await startDundun({ folder: dundun.folder });
      await ledger.verify(dundun);
    }
    done(await run(dundun.folder, 'check'));
    await dundun.stop();
  });

  test('of a restore leaves a folder that no server starts in, or a whole one', async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const source = await filledDundun();
    const file = join(makeFolder(), 'backup');
    done(await run(source.folder, 'backup', file));
    await source.stop();
    const folder = join(makeFolder(), 'data');
    let refusals = 0;
    for (let i = 0; i < kills; i++) {
      const isWriting = () => existsSync(join(folder, 'dundun.sqlite.restoring'));
      await killed({ random, isWriting, folder }, 'restore', file, '--replace');
      if (existsSync(join(folder, 'dundun.sqlite.restoring'))) {
        refusals += 1;
        const { code, stderr } = await startRefused({ folder });
        assert.equal(code, 1);
        assert.match(stderr, /did not come to its end.*restore FILE --replace/);
        const user = await run(folder, 'user', 'list');
        assert.equal(user.code, 1);
      } else if (existsSync(join(folder, 'dundun.sqlite'))) done(await run(folder, 'check'));
    }
    t.diagnostic(`${refusals} of ${kills} were cut off while they wrote`);
    done(await run(folder, 'restore', file, '--replace'));
    done(await run(folder, 'check'));
    const again = new Dundun({ folder });
    await again.ready;
    await again.stop();
  });
});

test('a restore cut off by a power failure leaves the data from before, a folder that no server starts in, or all of the backup', {
  skip: withoutPowerCuts,
  timeout: 1_800_000,
}, async (t) => {
  const random = new SeededRandom();
  t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
  const { file } = await aBackup();
  const before = await startDundun();
  await makeDevice(before, 'before', ['s']);
  // What it has acknowledged is in the write-ahead log alone.
  await before.stop('SIGKILL');
  const ends: Record<string, number> = {};
  for (let i = 0; i < (isLong ? 200 : 12); i++) {
    const folder = copyFolder(before.folder);
    const disk = new LossyDisk(folder);
    disk.killAfter(random.between(1, restoreSteps));
    const settings = { ...disk.settings, DUNDUN_DATA_DIR: folder };
    await runVerb(['restore', file, '--replace'], { settings });
    const toll = disk.cut(random);
    const end = await endOf(folder);
    assert.match(end, /^(before|refused|d)$/, JSON.stringify(toll));
    ends[end] = (ends[end] ?? 0) + 1;
  }
  t.diagnostic(JSON.stringify(ends));
});

/** The device in the folder, or that no server starts in it. */
async function endOf(folder: string): Promise<string> {
  if (existsSync(join(folder, 'dundun.sqlite.restoring'))) {
    assert.equal((await startRefused({ folder })).code, 1);
    return 'refused';
  }
  done(await run(folder, 'check'));
  return query(folder, 'SELECT id FROM device')
    .map(({ id }) => id)
    .join();
}

/** A small backup, and the folder of the stopped service it was made of. */
async function aBackup(): Promise<{ readonly folder: string; readonly file: string }> {
  const dundun = await startDundun();
  await makeDevice(dundun, 'd', ['s']);
  const ledger = new Ledger('d');
  await push({ server: dundun, ledger }, ledger.enter('s', 100));
  await dundun.stop();
  const file = join(makeFolder(), 'backup');
  done(await run(dundun.folder, 'backup', file));
  return { folder: dundun.folder, file };
}

/** A server with so many datapoints that copying them takes a while. */
async function filledDundun(): Promise<Dundun> {
  const dundun = await startDundun();
  await makeDevice(dundun, 'full', ['s']);
  const ledger = new Ledger('full');
  for (let i = 0; i < 15; i++) await push({ server: dundun, ledger }, ledger.enter('s', 30_000));
  return dundun;
}

/** Starts a verb and kills it some time after it has begun to write. */
async function killed(
  {
    random,
    folder,
    isWriting,
  }: { readonly random: SeededRandom; readonly folder: string; readonly isWriting: () => boolean },
  ...args: string[]
): Promise<void> {
  const verb = startVerb(args, { settings: { DUNDUN_DATA_DIR: folder } });
  await until(() => isWriting() || verb.child.exitCode !== null, { everyMs: 2 });
  // At any moment of the writing.
  await pause(random.between(0, 500));
  await verb.stop('SIGKILL');
}

function copyFolder(folder: string): string {
  const copy = join(makeFolder(), 'data');
  mkdirSync(copy);
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  return copy;
}
