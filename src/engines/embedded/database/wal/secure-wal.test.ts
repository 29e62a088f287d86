// Random commits, checkpoints, rollbacks and damages of a write-ahead log: afterwards SQLite has all that was committed, or
// the loss is told; after a power cut nothing is told.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { SeededRandom } from '../../../../../test/support/dice.ts';
import { roundsOf } from '../../../../../test/support/properties.ts';
import { databaseFile, openConnection } from '../connection.ts';
import { secureWal } from './secure-wal.ts';
import { forgetWalDamages, listWalDamages } from './wal-damages.ts';

const frameBytes = 24 + 4096;
const rounds = roundsOf({ usual: 80, long: 3_000 });
const folders: string[] = [];
const endings = ['', '-wal', '-shm'];

suite('the write-ahead log before SQLite opens it', () => {
  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  test('with one bit flipped has all that was committed again, or the loss is told', (t) => {
    const random = seeded(t);
    let mended = 0;
    for (let round = 0; round < rounds; round++) {
      const { folder, rows, lastFrames } = killed(random);
      const bit = random.between(0, 8 * endOfFrames(folder));
      const isLast = bit >= 8 * (endOfFrames(folder) - lastFrames * frameBytes);
      const hasIndex = !random.oneIn(3);
      if (!hasIndex) rmSync(file(folder, '-shm'));
      change(file(folder, '-wal'), (bytes) => {
        bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
      });
      const told = secureWal(folder);
      const [damage] = listWalDamages(folder);
      if (damage?.loss.isMixed === true) continue;
      const isWhole = JSON.stringify(rowsIn(folder)) === JSON.stringify(rows);
      if (isWhole) mended += 1;
      // Without its index nobody can know that the last commit was acknowledged.
      else if (damage === undefined) assert.ok(isLast && !hasIndex, `round ${round}, bit ${bit}: ${told}`);
    }
    t.diagnostic(`${mended} of ${rounds} were put right`);
    assert.ok(mended > rounds / 2);
  });

  test('with many bytes changed has all that was committed, or the loss is told', (t) => {
    const random = seeded(t);
    let losses = 0;
    let mixed = 0;
    for (let round = 0; round < rounds; round++) {
      const { folder, seqs } = killed(random);
      const end = endOfFrames(folder);
      const start = random.between(0, end - 1);
      const length = Math.min(end - start, random.between(2, 3000));
      change(file(folder, '-wal'), (bytes) => {
        for (let at = start; at < start + length; at++) bytes[at] = random.between(0, 256);
      });
      secureWal(folder);
      const damages = listWalDamages(folder);
      const found = damages[0];
      if (found?.loss.isMixed === true) {
        mixed += 1;
        continue;
      }
      const stored = seqsIn(folder);
      const isWhole = JSON.stringify(stored) === JSON.stringify(seqs);
      assert.ok(
        isWhole || found !== undefined,
        `round ${round}: bytes ${start} to ${start + length}: ${stored} of ${seqs}`,
      );
      if (found === undefined) continue;
      losses += 1;
      const { fromSeq, toSeq } = found.loss;
      if (fromSeq === undefined) continue;
      assert.equal(fromSeq, (stored.at(-1) ?? 0) + 1, `round ${round}`);
      assert.ok(toSeq !== undefined && toSeq <= (seqs.at(-1) as number), `round ${round}: ${toSeq}`);
    }
    t.diagnostic(`${losses} losses, ${mixed} with parts in the file`);
    assert.ok(losses > 0);
  });

  test('whose header and first frame have changed tells that its commits are lost, with its index and without', () => {
    for (const hasIndex of [true, false]) {
      const { folder } = killed(new SeededRandom(1));
      if (!hasIndex) rmSync(file(folder, '-shm'));
      change(file(folder, '-wal'), (bytes) => bytes.fill(0x5a, 5, 223));
      secureWal(folder);
      assert.equal(listWalDamages(folder).length, 1, hasIndex ? 'with its index' : 'without');
    }
  });

  test('whose last commit was not synced when the power failed tells nothing', (t) => {
    const random = seeded(t);
    for (let round = 0; round < rounds; round++) {
      const { folder, lastFrames } = killed(random);
      const end = endOfFrames(folder);
      // Some sectors of the frames of the last commit are what was there before, and the index is anything.
      writeFileSync(file(folder, '-shm'), Buffer.alloc(32768, random.between(1, 256)));
      change(file(folder, '-wal'), (bytes) => {
        for (let sector = Math.ceil((end - lastFrames * frameBytes) / 512); sector * 512 < end; sector++) {
          if (random.oneIn(2)) bytes.fill(0, sector * 512, Math.min(end, sector * 512 + 512));
        }
      });
      secureWal(folder);
      assert.deepEqual(listWalDamages(folder), [], `round ${round}`);
      seqsIn(folder);
    }
  });

  test('is left as it is where it is whole, and where a rolled-back transaction lies behind its end', (t) => {
    const random = seeded(t);
    for (let round = 0; round < rounds; round++) {
      const { folder, seqs } = killed(random);
      if (random.oneIn(3)) rmSync(file(folder, '-shm'));
      const before = readFileSync(file(folder, '-wal'));
      assert.deepEqual(secureWal(folder), []);
      assert.ok(readFileSync(file(folder, '-wal')).equals(before));
      assert.deepEqual([listWalDamages(folder), seqsIn(folder)], [[], seqs]);
    }
  });

  test('is remembered and told once for each damage, until it is forgotten', () => {
    const { folder } = killed(new SeededRandom(1));
    change(file(folder, '-wal'), (bytes) => bytes.fill(7, 2000, 4000));
    for (let start = 0; start < 2; start++) secureWal(folder);
    const [damage, ...others] = listWalDamages(folder);
    assert.ok(damage?.copy !== undefined && existsSync(join(folder, damage.copy)));
    assert.deepEqual(others, []);
    assert.equal(forgetWalDamages(folder), 1);
    assert.equal(existsSync(join(folder, damage.copy)), false);
  });
});

function seeded(t: { diagnostic(text: string): void }): SeededRandom {
  const random = new SeededRandom();
  t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
  return random;
}

/** The files of a database as a kill leaves them, the seqs in its log, and how many frames its last commit has. */
function killed(random: SeededRandom): {
  readonly folder: string;
  readonly seqs: readonly number[];
  /** What is in the log, with a checksum of each row. */
  readonly rows: readonly string[];
  readonly lastFrames: number;
} {
  const live = makeFolder();
  const writer = openConnection(file(live, ''), { readOnly: false });
  const reader = openConnection(file(live, ''), { readOnly: true });
  // The files are copied, not cut off from power.
  writer.exec('PRAGMA synchronous = OFF');
  writer.exec(`CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE log (first_seq INTEGER PRIMARY KEY, datapoints INTEGER NOT NULL, rows BLOB NOT NULL);
    INSERT INTO counter VALUES ('sealed_seq', 0); PRAGMA cache_size = 10`);
  const insert = writer.prepare('INSERT INTO log VALUES (?, 1, randomblob(?))');
  const seqs: number[] = [];
  const commit = (): number => {
    const before = endOfFrames(live);
    writer.exec('BEGIN');
    for (let rows = random.between(1, 4); rows > 0; rows--) {
      seqs.push(seqs.length + 1);
      insert.run(seqs.length, random.between(10, 6000));
    }
    writer.exec('COMMIT');
    return (endOfFrames(live) - before) / frameBytes;
  };
  for (let step = random.between(1, 15); step > 0; step--) {
    if (random.oneIn(6)) writer.exec('PRAGMA wal_checkpoint(PASSIVE)');
    if (random.oneIn(8)) reader.exec(reader.isTransaction ? 'COMMIT' : 'BEGIN; SELECT count(*) FROM log');
    if (random.oneIn(4)) {
      // Larger than the cache: its frames are in the log already when it is rolled back.
      writer.exec('BEGIN');
      for (let row = 0; row < 20; row++) insert.run(1_000 + row, 4000);
      writer.exec('ROLLBACK');
    }
    commit();
  }
  const lastFrames = Math.max(1, commit());
  const folder = makeFolder();
  for (const ending of endings) copyFileSync(file(live, ending), file(folder, ending));
  reader.close();
  const rows = rowsOf(writer);
  writer.close();
  return { folder, seqs, rows, lastFrames };
}

function seqsIn(folder: string): number[] {
  return rowsIn(folder).map((row) => Number.parseInt(row, 10));
}

function rowsIn(folder: string): string[] {
  const database = openConnection(file(folder, ''), { readOnly: true });
  try {
    assert.equal(database.prepare('PRAGMA integrity_check').get()?.['integrity_check'], 'ok');
    return database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'log'").get() === undefined
      ? []
      : rowsOf(database);
  } finally {
    database.close();
  }
}

function rowsOf(database: DatabaseSync): string[] {
  const rows = database.prepare('SELECT first_seq AS seq, rows FROM log').all();
  return rows.map(({ seq, rows }) => `${seq} ${crc32(rows as Uint8Array)}`);
}

/** Where the frames end that commits have written, by the index. */
function endOfFrames(folder: string): number {
  return 32 + readFileSync(file(folder, '-shm')).readUInt32LE(16) * frameBytes;
}

function change(path: string, damage: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  damage(bytes);
  writeFileSync(path, bytes);
}

function file(folder: string, ending: string): string {
  return join(folder, `${databaseFile}${ending}`);
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-wal-'));
  folders.push(folder);
  return folder;
}
