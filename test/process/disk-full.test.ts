// A full disk, simulated by a limit on the size of the process's files: what cannot be stored is refused with 503 or,
// over MQTT, not acknowledged, and readiness says so; acknowledged data stays; when there is space again the service
// recovers by itself (I1).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { databaseFile } from '../../src/engines/embedded/database/connection.ts';
import { Ledger } from '../support/crash/ledger.ts';
import { push } from '../support/crash/pushers.ts';
import { isIntact, openDatabase } from '../support/database.ts';
import { Publisher } from '../support/mqtt/mqtt-publisher.ts';
import { call, type Dundun, figuresOf, makeDevice, serveCommand, startDundun } from '../support/process.ts';
import { until } from '../support/until.ts';

const fileBytesMax = 4 * 1024 * 1024;
const command = ['prlimit', `--fsize=${fileBytesMax}:unlimited`, ...serveCommand];
const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;

suite('a full disk', { timeout: 1_800_000, skip: !hasPrlimit && 'needs prlimit of util-linux' }, () => {
  test('refuses with 503, loses nothing, and is forgotten when there is room', async () => {
    const dundun = await startDundun({ command });
    const ledger = new Ledger('d');
    await makeDevice(dundun, 'd', ['s', 'mqtt']);
    assert.deepEqual(await readiness(dundun), [200, 'ok']);
    assert.match(await metrics(dundun), /^dundun_storage_refuses 0$/m);
    await fill(dundun, ledger);
    const path = '/api/v2/devices/d/sensors/s/value';
    const refused = await call(dundun, path, { json: { value: -1 } });
    const problem = (await refused.json()) as { type: string; detail: string };
    assert.equal(refused.status, 503);
    assert.equal(problem.type, 'urn:dundun:problem:storage');
    assert.match(problem.detail, /Nothing of this request was stored/);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.equal((await call(dundun, '/api/v2/devices', { json: { id: 'e' } })).status, 503);
    assert.equal((await call(dundun, '/health/live')).status, 200);
    assert.match(dundun.stderr, /the storage refused/);
    const [unready, reason] = await readiness(dundun);
    assert.equal(unready, 503);
    assert.match(reason, /^the disk refuses to write: ./);
    assert.match(await metrics(dundun), /^dundun_storage_refuses 1$/m);
    assert.match(await metrics(dundun), /^dundun_storage_refusals_total [1-9]/m);
    await ledger.verify(dundun);

    const publisher = new Publisher({ ledger, sensor: 'mqtt', qos: 1, clientId: 'p', window: 20 });
    // What it publishes cannot be stored, so it is cut without an answer, or not even let in.
    await publisher.connect(dundun.ports).catch(() => {});
    await publisher.closed;
    assert.equal(ledger.pushesTo('mqtt').filter((sent) => sent.told === 'stored').length, 0);

    makeRoom(dundun);
    // Nobody writes now, as behind a proxy that sends nothing to who is not ready.
    await until(async () => (await readiness(dundun))[0] !== 503, { everyMs: 50 });
    assert.deepEqual(await readiness(dundun), [200, 'ok']);
    const after = ledger.enter('s');
    await push({ server: dundun, ledger }, after);
    assert.equal(after.told, 'stored');
    assert.equal((await call(dundun, '/api/v2/devices/e')).status, 404);
    assert.equal((await call(dundun, '/api/v2/devices', { json: { id: 'e' } })).status, 204);
    await publisher.connect(dundun.ports);
    await publisher.finish();
    await ledger.verify(dundun);
    await dundun.stop('SIGKILL');
    assert.ok(isIntact(dundun.folder));
    const again = await startDundun({ folder: dundun.folder });
    await ledger.verify(again);
    await again.stop();
  });

  test('is told in a few lines, which say how often it refused', async () => {
    const dundun = await startDundun({ command });
    const ledger = new Ledger('d');
    await makeDevice(dundun, 'd', ['s']);
    await fill(dundun, ledger);
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 30 }, () => refusal(dundun)));
    const refused = 300 + ledger.count('refused');
    const suppressed = await suppressedErrors(dundun);
    await dundun.stop();
    const lines = dundun.stderr
      .split('\n')
      .filter((line) => line.includes('the storage refused'))
      .map((line) => JSON.parse(line) as { readonly suppressed?: number });
    assert.equal(suppressed, refused - limits.logLinesMax);
    assert.deepEqual(
      lines.flatMap((line) => line.suppressed ?? []),
      [suppressed],
    );
    assert.equal(lines.length, limits.logLinesMax + 1);
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`${signal} while the disk is full loses nothing`, async () => {
      const dundun = await startDundun({ command });
      const ledger = new Ledger('d');
      await makeDevice(dundun, 'd', ['s']);
      await fill(dundun, ledger);
      const exit = await dundun.stop(signal);
      if (signal === 'SIGTERM') assert.deepEqual(exit, { code: 0, signal: null });
      assert.ok(isIntact(dundun.folder));
      const again = await startDundun({ folder: dundun.folder });
      await ledger.verify(again);
      await again.stop();
    });
  }
});

async function readiness(dundun: Dundun): Promise<[status: number, reason: string]> {
  const answer = await call(dundun, '/health/ready');
  return [answer.status, ((await answer.json()) as { status: string }).status];
}

async function metrics(dundun: Dundun): Promise<string> {
  return figuresOf(dundun);
}

async function refusal(dundun: Dundun): Promise<void> {
  const { status } = await call(dundun, '/api/v2/devices/d/sensors/s/value', { json: { value: -1 } });
  assert.equal(status, 503);
}

async function suppressedErrors(dundun: Dundun): Promise<number> {
  return Number(/^dundun_log_lines_suppressed_total\{level="error"\} (\d+)$/m.exec(await metrics(dundun))?.[1]);
}

/** Pushes until nothing fits any more, not one datapoint and not what the service tries the disk with. */
async function fill(dundun: Dundun, ledger: Ledger): Promise<void> {
  for (let count = 3000; count > 0; count = Math.floor(count / 10)) {
    let sent = ledger.enter('s', count);
    await push({ server: dundun, ledger }, sent);
    while (sent.told === 'stored') {
      sent = ledger.enter('s', count);
      await push({ server: dundun, ledger }, sent);
    }
    assert.equal(sent.told, 'refused');
  }
  assert.ok(ledger.count('stored') > 0);
  takeTheRest(dundun);
}

/**
 * A commit that does not fit may leave room for a smaller one. This process, which has no bound, writes on behind it as
 * the service does when it tries the disk, until the write-ahead log reaches beyond the bound.
 */
function takeTheRest({ folder }: Dundun): void {
  const database = openDatabase(folder);
  // Else what is in that log would go into the database, and there would be room again.
  database.exec('PRAGMA wal_autocheckpoint = 0');
  const write = database.prepare(
    "INSERT INTO counter (name, value) VALUES ('probe', 1) ON CONFLICT (name) DO UPDATE SET value = 1 - value",
  );
  while (statSync(join(folder, `${databaseFile}-wal`)).size <= fileBytesMax) write.run();
  database.close();
}

/** What is taken as the end of the disk lies further off now. */
function makeRoom(dundun: Dundun): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(dundun.child.pid), '--fsize=unlimited']);
  assert.equal(status, 0, String(stderr));
}
