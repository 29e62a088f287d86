// The service with a standby of its database, as an operator sets it: history comes from there, and what was answered holds however far
// the standby is behind.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { goByShard, PostgresServer, withoutPostgres } from '../support/postgres.ts';
import {
  call,
  type Dundun,
  figuresOf,
  login,
  makeDevice,
  readValues,
  startDundun,
  startRefused,
  withLimits,
} from '../support/process.ts';
import { until } from '../support/until.ts';

suite('a service with a standby', { skip: withoutPostgres, timeout: 300_000 }, () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let url: string;
  let dundun: Dundun;
  let token: string;

  const ofStandby = () => standby.url(new URL(url).pathname.slice(1));
  before(async () => {
    primary = await PostgresServer.start();
    standby = await PostgresServer.startStandby(primary);
    url = await primary.createDatabase();
    await standby.untilReplayed(primary);
    const settings = { DUNDUN_DATABASE_URL: url, DUNDUN_DATABASE_STANDBY_URL: ofStandby() };
    // Sealed at once, and in small chunks.
    const tight = { sealRowsMin: 20, sealRowsMax: 20, sealQuietRowsMin: 1, sealQuietMs: 20, chunkDatapointsWanted: 64 };
    dundun = await startDundun(withLimits({ ...tight, standbyRetryMs: 100 }, settings));
    token = String(await login(dundun));
  });
  after(async () => {
    await dundun?.stop();
    for (const server of [standby, primary]) server?.remove();
  });

  const figure = async (name: string) =>
    Number(new RegExp(`^${name.replaceAll(/[{}]/g, '[$&]')} (\\d+)$`, 'm').exec(await figuresOf(dundun))?.[1]);
  const push = async (device: string, from: number, count: number) => {
    const json = Array.from({ length: count }, (_, n) => ({
      value: from + n,
      timestamp: new Date(Date.UTC(2026, 0, 1) + 1_000 * (from + n)).toISOString(),
    }));
    assert.equal((await call(dundun, `/api/v2/devices/${device}/sensors/a/values`, { token, json })).status, 204);
  };
  const allSealed = () => until(async () => (await figure('dundun_log_datapoints')) === 0);
  const count = async (device: string) => (await readValues(dundun, device, 'a', 'limit=5000')).length;
  const remove = async (path: string, status: number) =>
    assert.equal((await call(dundun, path, { token, method: 'DELETE' })).status, status);

  test('reads history from it at every door of the API, and says how often', async () => {
    await makeDevice(dundun, 'd', ['a']);
    await push('d', 0, 1_000);
    await allSealed();
    await standby.untilReplayed(primary);
    const path = '/api/v2/devices/d/sensors/a/values';
    const doors = ['?limit=1000', '?lastN=5', '?format=csv', '?format=parquet', '?bucket=1h', '?points=50'];
    for (const door of [...doors.map((one) => path + one), '/api/v2/sensors_data?device_id=d&lastN=3']) {
      const before = await figure('dundun_standby_reads_total');
      const answer = await call(dundun, door, { token });
      assert.equal(answer.status, 200, door);
      await answer.arrayBuffer();
      await until(async () => (await figure('dundun_standby_reads_total')) > before, { otherwise: () => door });
    }
    assert.match(await figuresOf(dundun), /^dundun_standby_fallbacks_total\{reason="unreachable"\} 0$/m);
  });

  test('shows what was removed nowhere, nor what an earlier device of the same name had', async () => {
    await makeDevice(dundun, 'e', ['a']);
    await push('e', 0, 200);
    await allSealed();
    await standby.untilReplayed(primary);
    assert.equal(await count('e'), 200);
    await standby.pauseReplay();
    try {
      const second = (n: number) => new Date(Date.UTC(2026, 0, 1) + 1_000 * n).toISOString();
      await remove(`/api/v2/devices/e/sensors/a/values?date_from=${second(50)}&date_to=${second(99)}`, 200);
      assert.equal(await count('e'), 150);
      await push('e', 500, 100);
      await allSealed();
      assert.equal(await count('e'), 250);
      await remove('/api/v2/devices/e', 204);
      await makeDevice(dundun, 'e', ['a']);
      assert.equal(await count('e'), 0);
      await push('e', 0, 30);
      await allSealed();
      assert.equal(await count('e'), 30);
      assert.ok((await figure('dundun_standby_fallbacks_total{reason="behind"}')) > 0);
    } finally {
      await standby.resumeReplay();
    }
    await standby.untilReplayed(primary);
    assert.equal(await count('e'), 30);
  });

  test('reads from the database where the standby is gone, and tells the log why', async () => {
    await standby.stopImmediately();
    assert.equal(await count('d'), 1_000);
    assert.ok((await figure('dundun_standby_fallbacks_total{reason="unreachable"}')) > 0);
    await until(() => dundun.stderr.includes('history is read from the primary: the standby cannot answer'));
    await standby.run();
    const before = await figure('dundun_standby_reads_total');
    await until(async () => (await count('d')) === 1_000 && (await figure('dundun_standby_reads_total')) > before);
  });

  test('is refused where the standby is one of another database, or there is none that it could be one of', async () => {
    const other = await primary.createDatabase();
    const wrong = await startRefused({
      settings: { DUNDUN_DATABASE_URL: other, DUNDUN_DATABASE_STANDBY_URL: ofStandby() },
    });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr + wrong.stdout, /DUNDUN_DATABASE_STANDBY_URL leads to another database/);
    const alone = await startRefused({ settings: { DUNDUN_DATABASE_STANDBY_URL: ofStandby() } });
    assert.match(alone.stderr + alone.stdout, /DUNDUN_DATABASE_STANDBY_URL: needs DUNDUN_DATABASE_URL/);
  });

  test('goes on without it when the tables are to be distributed, and does not start with it any more', async () => {
    await makeDevice(dundun, 'shards', ['a']);
    await push('shards', 0, 1_000);
    await allSealed();
    await standby.untilReplayed(primary);
    await goByShard(url);
    await until(async () => {
      const before = await figure('dundun_standby_reads_total');
      assert.equal(await count('shards'), 1_000);
      return (await figure('dundun_standby_reads_total')) === before;
    });
    const refused = await startRefused({
      settings: { DUNDUN_DATABASE_URL: url, DUNDUN_DATABASE_STANDBY_URL: ofStandby() },
    });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr + refused.stdout, /Take DUNDUN_DATABASE_STANDBY_URL away/);
  });
});
