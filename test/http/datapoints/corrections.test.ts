// Removing and correcting stored datapoints (contract 5): which go, what follows from it, and who may.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { runSql } from '../../support/data.ts';
import { assertSound } from '../../support/sound-store.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let devices = 0;
let d = '';
let s = '';

before(async () => {
  server = await TestServer.start({ DUNDUN_LOG_LEVEL: 'info' });
});
after(() => server.stop());
beforeEach(async () => {
  devices += 1;
  d = `/devices/d${devices}`;
  s = `${d}/sensors/s`;
  const json = { id: `d${devices}`, visibility: 'public', sensors: [{ id: 's' }, { id: 't' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
});

const day = (n: number) => `2026-01-${String(n).padStart(2, '0')}T12:00:00Z`;
const push = (json: unknown, to = s) =>
  make(server, { as: 'owner', call: `POST ${to}/values`, json: json as never, expect: 204 });
const pushDays = (...days: number[]) => push(days.map((n) => ({ value: n, timestamp: day(n) })));
const values = async (of = s, more = '') => {
  const { body } = await make(server, { as: 'owner', call: `GET ${of}/values?limit=1000${more}`, expect: 200 });
  return (body as { value: unknown }[]).map(({ value }) => value);
};
const remove = async (parameters: string, as = 'owner') =>
  (await make(server, { as, call: `DELETE ${s}/values?${parameters}`, expect: 200 })).body;
const lastValue = async () => (await server.call('owner', 'GET', s)).body.last_value;

for (const place of ['in the log', 'sealed'] as const) {
  suite(`what is ${place}`, () => {
    const arrange = () => (place === 'sealed' ? server.running.engine.seal() : undefined);

    test('is removed with both bounds, and every read says so at once, also after a crash', async () => {
      await pushDays(1, 2, 3, 4, 5);
      await push([{ value: 7, timestamp: day(3) }], `${d}/sensors/t`);
      await arrange();
      assert.deepEqual(await values(), [1, 2, 3, 4, 5]);
      assert.deepEqual(await remove(`dateFrom=${day(2)}&dateTo=2026-01-04`), { removed: 3 });
      await server.crash();
      assert.deepEqual(await values(), [1, 5]);
      assert.deepEqual(await values(`${d}/sensors/t`), [7]);
      const path = `${s}/values?bucket=1y&aggregate=count,sum,max`;
      const buckets = (await server.call('owner', 'GET', path)).body;
      assert.deepEqual(buckets, [{ timestamp: '2026-01-01T00:00:00Z', count: 2, sum: 6, max: 5 }]);
      assert.equal((await server.call('owner', 'GET', `${s}/values?points=1000`)).body.length, 2);
      const merged = await server.call('owner', 'GET', `/sensors_data?device_id=d${devices}`);
      assert.deepEqual(
        merged.body.map(({ value }: { value: unknown }) => value),
        [1, 7, 5],
      );
      assert.deepEqual(await remove(`timestamp=${day(5)}`), { removed: 1 });
      assert.equal((await lastValue()).value, 1);
      assert.deepEqual(await remove(`dateFrom=0001-01-01&dateTo=9999-12-31`), { removed: 1 });
      assert.equal(await lastValue(), undefined);
      await assertSound(server);
    });

    test('is removed by its value alone, be it a number, a text or an object', async () => {
      await push([-127, 20, -127, 'open', { a: 1 }, null].map((value, n) => ({ value, timestamp: day(n + 1) })));
      await arrange();
      const all = 'dateFrom=2026-01-01&dateTo=2026-02-01';
      assert.deepEqual(await remove(`${all}&value=-127.0`), { removed: 2 });
      assert.deepEqual(await remove(`${all}&value=open`), { removed: 1 });
      assert.deepEqual(await remove(`${all}&value=${encodeURIComponent('{"a":1}')}`), { removed: 1 });
      assert.deepEqual(await remove(`${all}&value=21`), { removed: 0 });
      assert.deepEqual(await values(), [20, null]);
    });

    test('is corrected, with timestamp and time of receiving as they were', async () => {
      await pushDays(1, 2, 3);
      await arrange();
      const before = (await server.call('owner', 'GET', `${s}/values`)).body[2];
      server.clock.advance(60_000);
      await makeAll(server, [
        { as: 'owner', call: `PUT ${s}/values/${day(3)}`, json: { value: 33 }, expect: 204 },
        { as: 'owner', call: `PUT ${s}/values/${day(2)}`, json: { value: { broken: true } }, expect: 204 },
        { as: 'owner', call: `PUT ${s}/values/${day(4)}`, json: { value: 4 }, expect: 404 },
      ]);
      assert.deepEqual(await values(), [1, { broken: true }, 33]);
      assert.deepEqual(await lastValue(), { ...before, value: 33 });
      await server.crash();
      assert.deepEqual(await values(), [1, { broken: true }, 33]);
      assert.deepEqual(await lastValue(), { ...before, value: 33 });
      await assertSound(server);
    });

    test('is not corrected where several share the time, unless the time of receiving names one', async () => {
      const early = new Date(server.clock.now()).toISOString();
      await pushDays(1);
      server.clock.advance(1_000);
      const late = new Date(server.clock.now()).toISOString();
      await push([{ value: 'b', timestamp: day(1) }]);
      await arrange();
      const put = { as: 'owner', json: { value: 9 } };
      await makeAll(server, [
        { ...put, call: `PUT ${s}/values/${day(1)}`, expect: 422 },
        { ...put, call: `PUT ${s}/values/${day(1)}?received=${late}`, expect: 204 },
        { ...put, call: `PUT ${s}/values/${day(1)}?received=2020-01-01`, expect: 404 },
      ]);
      assert.deepEqual(await values(), [1, 9]);
      await make(server, { ...put, call: `PUT ${s}/values/${day(1)}?received=${early}`, expect: 204 });
      assert.deepEqual(await values(), [9, 9]);
    });

    test('is stored again where the same array comes within ten minutes', async () => {
      const body = JSON.stringify([1, 2].map((n) => ({ value: n, timestamp: day(n) })));
      const send = () =>
        server.call('owner', 'POST', `${s}/values`, { body, headers: { 'content-type': 'application/json' } });
      await send();
      await send();
      assert.deepEqual(await values(), [1, 2]);
      await arrange();
      await remove(`dateFrom=${day(1)}&dateTo=${day(2)}`);
      await send();
      assert.deepEqual(await values(), [1, 2]);
      await make(server, { as: 'owner', call: `PUT ${s}/values/${day(1)}`, json: { value: 5 }, expect: 204 });
      await send();
      assert.deepEqual(await values(), [5, 1, 2, 2]);
    });

    test('sets off no rule, and the condition uses what is left at once', async () => {
      const rule = async (expression: string) => {
        const condition = { devices: [`d${devices}`], sensors: ['t'], expression };
        const action = { usernames: ['owner'], channels: ['none'], message: 'm' };
        const call = 'POST /notifications';
        return (await make(server, { as: 'owner', call, json: { condition, action }, expect: 200 })).text;
      };
      const fired = async (id: string) => {
        await server.running.idle();
        return (await server.call('owner', 'GET', `/notifications/${id}`)).body.times_sent;
      };
      const [low, high] = [await rule('s<10'), await rule('s>=10')];
      await push([{ value: 5, timestamp: day(1) }]);
      await push([{ value: 50, timestamp: day(2) }]);
      await push([{ value: 0 }], `${d}/sensors/t`);
      assert.deepEqual([await fired(low), await fired(high)], [1, 2]);
      await arrange();
      await remove(`timestamp=${day(2)}`);
      assert.deepEqual([await fired(low), await fired(high)], [1, 2]);
      await push([{ value: 0 }], `${d}/sensors/t`);
      assert.deepEqual([await fired(low), await fired(high)], [2, 2]);
      await make(server, { as: 'owner', call: `PUT ${s}/values/${day(1)}`, json: { value: 70 }, expect: 204 });
      assert.deepEqual([await fired(low), await fired(high)], [2, 2]);
      await push([{ value: 0 }], `${d}/sensors/t`);
      assert.deepEqual([await fired(low), await fired(high)], [2, 3]);
    });
  });
}

test('a request that does not say which datapoints, or says it wrongly, removes none', async () => {
  await pushDays(1);
  const refused = [
    '',
    `dateFrom=${day(1)}`,
    `dateTo=${day(1)}`,
    `dateFrom=${day(2)}&dateTo=${day(1)}`,
    `timestamp=${day(1)}&dateFrom=${day(1)}`,
    'timestamp=yesterday',
    `value=1`,
  ];
  for (const parameters of refused)
    await make(server, { as: 'owner', call: `DELETE ${s}/values?${parameters}`, expect: 400 });
  await makeAll(server, [
    { as: 'owner', call: `DELETE ${d}/sensors/none/values?timestamp=${day(1)}`, expect: 404 },
    { as: 'owner', call: `DELETE /devices/none/sensors/s/values?timestamp=${day(1)}`, expect: 404 },
    { as: 'owner', call: `PUT ${s}/values/soon`, json: { value: 1 }, expect: 400 },
    { as: 'owner', call: `PUT ${s}/values/${day(1)}`, json: {}, expect: 400 },
    { as: 'owner', call: `PUT ${s}/values/${day(1)}`, text: '5', expect: 415 },
    { as: 'owner', call: `PUT ${s}/values/20260101T120000Z`, json: { value: 'x'.repeat(70_000) }, expect: 413 },
    { as: 'owner', call: `DELETE ${s}/values?timestamp=${day(1)}`, version: 'v1', expect: 404 },
  ]);
  assert.deepEqual(await values(), [1]);
});

test('who may only push removes nothing, and who may not read does not choose by values', async () => {
  await pushDays(1, 2, 3);
  await server.call('owner', 'PUT', `${d}/visibility`, { text: 'private' });
  const share = (scopes: string[]) =>
    make(server, { as: 'owner', call: `PUT ${d}/shares/sharer`, json: { scopes }, expect: 204 });
  const one = `DELETE ${s}/values?timestamp=${day(1)}`;
  const put = `PUT ${s}/values/${day(1)}`;
  await share(['device:view', 'device-data:view', 'device-data:create', 'device:delete']);
  for (const as of ['sharer', 'stranger', 'guest']) {
    await make(server, { as, call: one, expect: 403 });
    await make(server, { as, call: put, json: { value: 2 }, expect: 403 });
  }
  await share(['device:update']);
  await make(server, { as: 'sharer', call: `${one}&value=1`, expect: 403 });
  await make(server, { as: 'sharer', call: one, expect: 200 });
  await share(['device:update', 'device-data:view']);
  await make(server, { as: 'sharer', call: `DELETE ${s}/values?timestamp=${day(2)}&value=2`, expect: 200 });
  assert.deepEqual(await values(), [3]);
});

test('a key removes where its scopes say so', async () => {
  await pushDays(1, 2);
  const keyOf = async (scopes: string[]) => {
    const { body } = await server.call('owner', 'POST', '/auth/keys', { json: { name: 'k', scopes } });
    return { authorization: `Bearer ${body.key}` };
  };
  const call = (headers: Readonly<Record<string, string>>, n: number, expect: number) =>
    make(server, { call: `DELETE ${s}/values?timestamp=${day(n)}`, headers, expect });
  await call(await keyOf(['devices:view', 'devices-data:view', 'devices-data:create']), 1, 403);
  await call(await keyOf(['devices:update']), 1, 200);
  assert.deepEqual(await values(), [2]);
});

test('it is in the audit log, moves date_modified, and is given back to who was charged', async () => {
  await pushDays(1, 2, 3, 4);
  await server.running.engine.seal();
  const modified = async () => (await server.call('owner', 'GET', d)).body.date_modified;
  const charged = async () => {
    const sql = `SELECT coalesce(sum(datapoints), 0) AS n FROM push_charge WHERE device = (SELECT key FROM device WHERE id = 'd${devices}')`;
    return Number((await runSql(server.folder, sql))[0]?.['n']);
  };
  await server.restart({ DUNDUN_LOG_LEVEL: 'info' });
  assert.equal(await charged(), 4);
  const before = await modified();
  server.clock.advance(5_000);
  await remove(`dateFrom=${day(1)}&dateTo=${day(2)}`);
  assert.equal(await charged(), 2);
  assert.ok((await modified()) > before);
  await make(server, { as: 'owner', call: `PUT ${s}/values/${day(3)}`, json: { value: 5 }, expect: 204 });
  const told = server.logged.filter(({ msg }) => msg?.startsWith('audit: '));
  assert.deepEqual(
    told.slice(-2).map(({ msg }) => msg),
    ['audit: datapoints were removed', 'audit: a datapoint was corrected'],
  );
  const [removal] = told.slice(-2) as unknown as { by: string; datapoints: number }[];
  assert.deepEqual([removal?.by, removal?.datapoints], ['owner', 2]);
});

test('one wrong datapoint dated 2030 goes alone', async () => {
  await pushDays(1, 2);
  await push([{ value: 3, timestamp: '2030-01-01T00:00:00Z' }]);
  assert.equal((await lastValue()).value, 3);
  assert.deepEqual(await remove('timestamp=2030-01-01T00:00:00Z'), { removed: 1 });
  assert.deepEqual(await values(), [1, 2]);
});
