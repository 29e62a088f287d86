// Proves the simulated disk that loses power (lossy-disk.ts), on which the crash tests rely: synced data stays, other
// writes may be lost or torn; and a service that does not sync is caught losing acknowledged data.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { Ledger } from '../support/crash/ledger.ts';
import { LossyDisk, withoutPowerCuts } from '../support/crash/lossy-disk.ts';
import type { Loss } from '../support/crash/power-cut.ts';
import { push } from '../support/crash/pushers.ts';
import { isIntact } from '../support/database.ts';
import { SeededRandom } from '../support/dice.ts';
import { makeDevice, makeFolder, Running, root, serveCommand, startDundun } from '../support/process.ts';
import { properties } from '../support/properties.ts';

const all: Loss = { kind: 'all' };
const sectorBytes = 512;

/** What a program in Node.js does in the folder before it is killed, `f` being its files, and what a cut leaves. */
const programs: readonly (readonly [what: string, program: string, left: Readonly<Record<string, string | null>>])[] = [
  ['a write', "write('old', 'new')", { old: 'OLD' }],
  ['a write that was synced', "write('old', 'new'); sync('old')", { old: 'new' }],
  ['what follows a sync', "write('old', 'new'); sync('old'); append('old', ' and more')", { old: 'new' }],
  ['an append', "append('old', 'er')", { old: 'OLD' }],
  ['a shortening', "once(f('old'), 'r+', (fd) => fs.ftruncateSync(fd, 1))", { old: 'OLD' }],
  ['an emptied file', "fs.openSync(f('old'), 'w')", { old: 'OLD' }],
  ['a new file', "write('new', 'x'); sync('new')", { new: null }],
  ['a new file whose folder was synced', "write('new', 'x'); sync('new'); syncFolder()", { new: 'x' }],
  ['a new file, unsynced in a synced folder', "write('new', 'x'); syncFolder()", { new: '' }],
  ['a removal', "fs.unlinkSync(f('old'))", { old: 'OLD' }],
  ['a removal whose folder was synced', "fs.unlinkSync(f('old')); syncFolder()", { old: null }],
  ['a rename over another file', "fs.renameSync(f('old'), f('other'))", { old: 'OLD', other: 'OTHER' }],
  [
    'a rename whose folder was synced',
    "fs.renameSync(f('old'), f('other')); syncFolder()",
    { old: null, other: 'OLD' },
  ],
  [
    'a file replaced with care',
    "write('t', 'x'); sync('t'); fs.renameSync(f('t'), f('old')); syncFolder()",
    { old: 'x' },
  ],
  ['a file replaced without care', "write('t', 'x'); fs.renameSync(f('t'), f('old')); syncFolder()", { old: '' }],
  ['a new folder', "fs.mkdirSync(f('new')); write('new/file', 'x')", { new: null }],
];

const prelude = `
const fs = require('node:fs');
const f = (name) => process.argv[1] + '/' + name;
const once = (path, flags, work) => { const fd = fs.openSync(path, flags); work(fd); fs.closeSync(fd); };
const write = (name, text) => once(f(name), fs.constants.O_RDWR | fs.constants.O_CREAT, (fd) => fs.writeSync(fd, text, 0));
const append = (name, text) => once(f(name), 'a', (fd) => fs.writeSync(fd, text));
const sync = (name) => once(f(name), 'r', (fd) => fs.fdatasyncSync(fd));
const run = (steps) => once(f('old'), 'r+', (fd) => {
  for (const step of steps) {
    if (step.do === 'write') fs.writeSync(fd, Buffer.alloc(step.length, step.byte), 0, step.length, step.at);
    else if (step.do === 'cut') fs.ftruncateSync(fd, step.at);
    else fs.fsyncSync(fd);
  }
});
const syncFolder = () => once(process.argv[1], 'r', (fd) => fs.fsyncSync(fd));
`;

suite('a disk that loses power', { skip: withoutPowerCuts, timeout: 1_800_000 }, () => {
  for (const [what, program, left] of programs) {
    test(`${what} leaves ${JSON.stringify(left)} where all is lost that was not synced`, async () => {
      const { folder, disk } = makeDisk();
      await runUntilKilled(disk, folder, program);
      disk.cut(new SeededRandom(), all);
      for (const [name, text] of Object.entries(left)) {
        const path = join(folder, name);
        assert.equal(existsSync(path) ? readFileSync(path, 'utf8') : null, text, name);
      }
    });
  }

  test('what a killed process wrote counts as unsynced in the next one, until the power fails', async () => {
    const { folder, disk } = makeDisk();
    await runUntilKilled(disk, folder, "write('old', 'new')");
    assert.equal(readFileSync(join(folder, 'old'), 'utf8'), 'new');
    await runUntilKilled(disk, folder, "append('old', 'er')");
    disk.cut(new SeededRandom(), all);
    assert.equal(readFileSync(join(folder, 'old'), 'utf8'), 'OLD');
    await runUntilKilled(disk, folder, "append('old', 'er'); sync('old')");
    disk.cut(new SeededRandom(), all);
    assert.equal(readFileSync(join(folder, 'old'), 'utf8'), 'OLDer');
  });

  test('each sector is as it was at some moment since the last sync, and some are torn', async () => {
    let torn = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), fc.nat(), async (steps, seed) => {
        const { folder, disk } = makeDisk();
        await runUntilKilled(disk, folder, `run(${JSON.stringify(steps)})`);
        const random = new SeededRandom(seed);
        const keptPercent = random.between(0, 101);
        const toll = disk.cut(random, { kind: random.oneIn(4) ? 'writes' : 'sectors', keptPercent, sectorBytes });
        if (toll.sectorsLost > 0 && toll.sectorsLost < toll.sectors) torn += 1;
        assertPossible(readFileSync(join(folder, 'old')), versionsOf(steps));
      }),
      properties({ factor: 0.15 }),
    );
    assert.ok(torn > 0, 'no write was torn');
  });

  test('a shortening is lost as a whole, with what came behind it, or not at all', async () => {
    const left = new Set<string>();
    for (let seed = 0; seed < 24; seed++) {
      const { folder, disk } = makeDisk();
      const fill = "write('old', 'a'.repeat(4096)); sync('old')";
      const cut = "once(f('old'), 'r+', (fd) => { fs.ftruncateSync(fd, 0); fs.writeSync(fd, 'b'.repeat(512), 0); })";
      await runUntilKilled(disk, folder, `${fill}; ${cut}`);
      disk.cut(new SeededRandom(seed), { kind: 'sectors', keptPercent: 50, sectorBytes });
      left.add(
        readFileSync(join(folder, 'old'), 'latin1').replaceAll(/(.)\1*/gs, (run, [byte]) => `${byte}${run.length}`),
      );
    }
    // Zeros: the file has become longer again, but what was written to it is lost.
    assert.deepEqual([...left].sort(), ['', '\u0000512', 'a4096', 'b512']);
  });

  test('a service that waits for the disk loses nothing that it acknowledged', async () => {
    const { disk, ledger, folder } = await pushUntilKilled();
    disk.cut(new SeededRandom(), all);
    assert.ok(isIntact(folder));
    await verifyAfterwards(folder, ledger);
  });

  test('a service that finds what a killed one stored unsynced tells a repeat only once it has reached the disk', async () => {
    const { disk, ledger, folder } = await pushUntilKilled('OFF');
    const dundun = await startDundun({ folder, settings: disk.settings });
    for (const sent of ledger.pushesTo('s')) await push({ server: dundun, ledger, keyPrefix: 'k' }, sent);
    await dundun.stop('SIGKILL');
    disk.cut(new SeededRandom(), all);
    await verifyAfterwards(folder, ledger);
  });

  for (const level of ['NORMAL', 'OFF'] as const) {
    test(`a service that does not, synchronous=${level}, is caught`, async () => {
      const { disk, ledger, folder } = await pushUntilKilled(level);
      disk.cut(new SeededRandom(), all);
      await assert.rejects(verifyAfterwards(folder, ledger), /is lost/);
    });
  }
});

function makeDisk(): { readonly folder: string; readonly disk: LossyDisk } {
  const folder = join(makeFolder(), 'data');
  mkdirSync(folder);
  writeFileSync(join(folder, 'old'), 'OLD');
  writeFileSync(join(folder, 'other'), 'OTHER');
  return { folder, disk: new LossyDisk(folder) };
}

async function runUntilKilled(disk: LossyDisk, folder: string, program: string): Promise<void> {
  const text = `${prelude}${program}; process.kill(process.pid, 'SIGKILL');`;
  const running = new Running([process.execPath, '-e', text, folder], { settings: disk.settings });
  const { signal } = await running.exit;
  assert.equal(signal, 'SIGKILL', running.stderr);
}

/** One step of a program that works on one file. */
type Step =
  | { readonly do: 'write'; readonly at: number; readonly length: number; readonly byte: number }
  | { readonly do: 'cut'; readonly at: number }
  | { readonly do: 'sync' };

const place = fc.integer({ min: 0, max: 6 * sectorBytes });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      at: place,
      length: fc.integer({ min: 1, max: 4 * sectorBytes }),
      byte: fc.integer({ min: 1, max: 255 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cut' as const), at: place }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sync' as const) }) },
);

/** What the file held at the last sync and after each step since. */
function versionsOf(steps: readonly Step[]): Buffer[] {
  let versions: Buffer[] = [Buffer.from('OLD')];
  for (const step of steps) {
    const last = versions.at(-1) as Buffer;
    if (step.do === 'sync') versions = [last];
    else if (step.do === 'cut') versions.push(resized(last, step.at));
    else {
      const next = resized(last, Math.max(last.length, step.at + step.length));
      versions.push(next.fill(step.byte, step.at, step.at + step.length));
    }
  }
  return versions;
}

/** A copy, with zeros at its end where it is longer. */
function resized(bytes: Buffer, size: number): Buffer {
  const copy = Buffer.alloc(size);
  bytes.copy(copy);
  return copy;
}

function assertPossible(left: Buffer, versions: readonly Buffer[]): void {
  assert.ok(
    versions.some(({ length }) => length === left.length),
    `the file never was ${left.length} bytes long`,
  );
  for (let start = 0; start < left.length; start += sectorBytes) {
    const sector = left.subarray(start, start + sectorBytes);
    assert.ok(
      versions.some((version) =>
        resized(version, left.length)
          .subarray(start, start + sectorBytes)
          .equals(sector),
      ),
      `the bytes from ${start} on never were there`,
    );
  }
}

/** A service on such a disk, with a device that is there whatever happens, killed after some pushes. */
async function pushUntilKilled(synchronous?: string) {
  const folder = join(makeFolder(), 'data');
  const before = await startDundun({ folder });
  await makeDevice(before, 'd', ['s']);
  await before.stop();
  const disk = new LossyDisk(folder);
  const fault = ['--import', join(root, 'test/power-loss/unsynced.ts')];
  const dundun = await startDundun({
    folder,
    settings: { ...disk.settings, TEST_SYNCHRONOUS: synchronous },
    command: serveCommand.toSpliced(1, 0, ...(synchronous === undefined ? [] : fault)),
  });
  const ledger = new Ledger('d');
  for (const count of [1, 1, 300, 1, 3000, 1]) {
    await push({ server: dundun, ledger, keyPrefix: 'k' }, ledger.enter('s', count));
  }
  assert.deepEqual(
    ledger.pushesTo('s').map(({ told }) => told),
    Array(6).fill('stored'),
    dundun.stderr,
  );
  await dundun.stop('SIGKILL');
  return { folder, disk, ledger };
}

async function verifyAfterwards(folder: string, ledger: Ledger): Promise<void> {
  const dundun = await startDundun({ folder });
  await ledger.verify(dundun);
  await dundun.stop();
}
