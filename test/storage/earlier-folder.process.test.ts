// A data folder of the release that stored a row for each datapoint, as its killed server left it: everything reads
// back equal after the upgrade, however often the upgrade is interrupted (test/data/earlier-table).
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { brotliDecompressSync } from 'node:zlib';
import { LossyDisk, withoutPowerCuts } from '../support/crash/lossy-disk.ts';
import { query, tamper } from '../support/database.ts';
import { SeededRandom } from '../support/dice.ts';
import {
  call,
  Dundun,
  figuresOf,
  makeFolder,
  root,
  runVerb,
  startDundun,
  startRefused,
  withLimits,
} from '../support/process.ts';
import { until } from '../support/until.ts';

const parts = join(root, 'test/data/earlier-table');
const unpacked = (name: string) => brotliDecompressSync(readFileSync(join(parts, `${name}.br`)));
/** What the earlier server answered: of each sensor its values as NDJSON, and of all of them the last one. */
const expected = JSON.parse(unpacked('expected.json').toString()) as {
  readonly sensors: Readonly<Record<string, string>>;
  readonly last: Readonly<Record<string, unknown>>;
};

function earlierFolder(): string {
  const folder = join(makeFolder(), 'data');
  mkdirSync(folder, { mode: 0o700 });
  for (const name of ['dundun.sqlite', 'dundun.sqlite-wal']) writeFileSync(join(folder, name), unpacked(name));
  return folder;
}

const pointsOf = (text: string) => text.trim().split('\n').map((line) => JSON.parse(line) as unknown); // biome-ignore format: one chain

async function assertEqual(dundun: Dundun): Promise<void> {
  for (const [sensor, values] of Object.entries(expected.sensors)) {
    const read = async (parameters: string) => {
      const answer = await call(dundun, `/api/v2/devices/hive/sensors/${sensor}/values?${parameters}`);
      assert.equal(answer.status, 200);
      return answer.text();
    };
    assert.deepEqual(pointsOf(await read('format=ndjson')), pointsOf(values), sensor);
    assert.deepEqual(pointsOf(await read('format=ndjson&sort=desc')), pointsOf(values).toReversed(), sensor);
  }
  const device = (await (await call(dundun, '/api/v2/devices/hive')).json()) as {
    readonly sensors: readonly { readonly id: string; readonly last_value: unknown }[];
  };
  assert.deepEqual(Object.fromEntries(device.sensors.map(({ id, last_value }) => [id, last_value])), expected.last);
}

/** Nothing of the table is left, nor of what was removed; receipts are there. */
function assertMoved(folder: string): void {
  assert.deepEqual(query(folder, "SELECT name FROM sqlite_master WHERE name LIKE 'datapoint%'"), []);
  assert.equal(query(folder, 'SELECT id FROM receipt').length, 10);
}

const isHalf = (folder: string) => {
  const tables = query(folder, "SELECT name FROM sqlite_master WHERE name IN ('datapoint', 'chunk')");
  return tables.length === 2;
};

suite('a data folder with a row for each datapoint', { timeout: 1_800_000 }, () => {
  test('reads back equal, and is clean, with the table gone', async () => {
    const folder = earlierFolder();
    const dundun = await startDundun({ folder });
    await assertEqual(dundun);
    await dundun.stop();
    assertMoved(folder);
    // What is there is charged to whoever owns the devices; `check` counts the records anew.
    assert.deepEqual(
      query(folder, 'SELECT sum(datapoint_bytes) AS bytes FROM usage'),
      query(folder, 'SELECT sum(datapoints) * 16 AS bytes FROM push_charge'),
    );
    assert.ok(Number(query(folder, 'SELECT sum(datapoints) AS sum FROM push_charge')[0]?.['sum']) > 0);
    const { code, stdout } = await runVerb(['check', folder]);
    assert.equal(code, 0, stdout);
    // Sealed, what came after joins what came before.
    const sealing = await startDundun({
      folder,
      ...withLimits({ sealRowsMin: 1, sealQuietMs: 50, sealQuietRowsMin: 1 }),
    });
    const sealed = async () => (await figuresOf(sealing)).includes('dundun_log_datapoints 0\n');
    await until(sealed);
    await assertEqual(sealing);
    await sealing.stop();
    assert.equal((await runVerb(['check', folder])).code, 0);
    assert.deepEqual(query(folder, 'SELECT * FROM purge'), []);
    assert.deepEqual(query(folder, 'SELECT 1 FROM chunk WHERE sensor NOT IN (SELECT key FROM sensor)'), []);
  });

  test('that could be moved in part only is said to be so, and is moved by the next start', async () => {
    const folder = earlierFolder();
    // `user list` brings tables to the present form, and leaves the datapoints to the server.
    assert.equal((await runVerb(['user', 'list'], { settings: { DUNDUN_DATA_DIR: folder } })).code, 0);
    tamper(folder, "CREATE TRIGGER stop BEFORE DELETE ON datapoint WHEN OLD.sensor = 4 BEGIN SELECT RAISE(ABORT, 'enough'); END"); // biome-ignore format: one call
    const refused = await startRefused({ folder });
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /enough/);
    assert.ok(isHalf(folder));
    assert.ok(query(folder, 'SELECT 1 FROM chunk').length > 0);
    const { code, stdout } = await runVerb(['check', folder]);
    assert.equal(code, 1);
    assert.match(stdout, /^upgrade: \d+ datapoints lie in the table of an earlier release.*\n {2}Start the service/);
    assert.match(stdout, / 1 findings\.\n$/);
    tamper(folder, 'DROP TRIGGER stop');
    const dundun = await startDundun({ folder });
    await assertEqual(dundun);
    await dundun.stop();
    assertMoved(folder);
    assert.equal((await runVerb(['check', folder])).code, 0);
  });

  test('is moved whole, whenever the server is killed and the power fails', { skip: withoutPowerCuts }, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    for (let round = 0, halves = 0; round < 3 || halves === 0; round++) {
      assert.ok(round < 40, 'no kill met the upgrade');
      const folder = earlierFolder();
      // Half of the kills meet the migrations before it too.
      if (round % 2 === 0) assert.equal((await runVerb(['user', 'list'], { settings: { DUNDUN_DATA_DIR: folder } })).code, 0); // biome-ignore format: one call
      const disk = new LossyDisk(folder);
      disk.killAfter(random.between(1, 80));
      const killed = new Dundun({ folder, settings: disk.settings });
      await killed.ready.catch(() => {});
      await killed.stop('SIGKILL');
      disk.killAfter(0);
      disk.cut(random);
      if (isHalf(folder)) halves += 1;
      const dundun = await startDundun({ folder });
      await assertEqual(dundun);
      await dundun.stop();
      assertMoved(folder);
    }
  });
});
