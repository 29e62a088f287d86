// Moving a sensor with its datapoints to another device (contract 4): what goes along, who may, and that nothing is left.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { runSql } from '../../support/data.ts';
import { assertSound } from '../../support/sound-store.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let devices = 0;
let from = '';
let to = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  devices += 1;
  [from, to] = [`from-${devices}`, `to-${devices}`];
  const calib = {
    linear: {
      enabled: true,
      value_min: { sensor_value: 0, real_value: 0 },
      value_max: { sensor_value: 1, real_value: 10 },
    },
  };
  await addDevice(from, [{ id: 's', name: 'soil', calib }, { id: 'stays' }]);
  await addDevice(to, []);
});

async function addDevice(id: string, sensors: object[], as = 'owner'): Promise<void> {
  await make(server, { as, call: 'POST /devices', json: { id, visibility: 'private', sensors }, expect: 204 });
}

const day = (n: number) => `2026-01-${String(n).padStart(2, '0')}T12:00:00Z`;
const push = (path: string, ...days: number[]) =>
  server.call('owner', 'POST', `/devices/${path}/values`, { json: days.map((n) => ({ value: n, timestamp: day(n) })) });
const values = async (path: string) =>
  (await server.call('owner', 'GET', `/devices/${path}/values?calibrated=false`)).body.map(
    ({ value }: { value: unknown }) => value,
  );
const move = (expect: number, { as = 'owner', target = to, sensor = 's', source = from } = {}) =>
  make(server, { as, call: `PUT /devices/${source}/sensors/${sensor}/device`, text: target, expect });

test('a sensor is there with all its datapoints, and no longer here, also after a restart', async () => {
  await push(`${from}/sensors/s`, 1, 2);
  await server.running.engine.seal();
  await push(`${from}/sensors/s`, 3);
  const before = (await server.call('owner', 'GET', `/devices/${from}/sensors/s`)).body;
  await move(204);
  const held = async () => {
    assert.deepEqual((await server.call('owner', 'GET', `/devices/${to}/sensors/s`)).body, before);
    assert.deepEqual(await values(`${to}/sensors/s`), [1, 2, 3]);
    for (const call of ['GET', 'POST'])
      assert.equal(
        (
          await server.call(
            'owner',
            call,
            `/devices/${from}/sensors/s/values`,
            call === 'POST' ? { json: { value: 1 } } : {},
          )
        ).status,
        404,
      );
    const { body } = await server.call('owner', 'GET', `/devices/${from}`);
    assert.deepEqual(
      body.sensors.map(({ id }: { id: string }) => id),
      ['stays'],
    );
  };
  await held();
  await server.restart();
  await held();
  assert.equal((await push(`${to}/sensors/s`, 4)).status, 204);
  assert.deepEqual(await values(`${to}/sensors/s`), [1, 2, 3, 4]);
  await assertSound(server);
});

test('the id may come as a JSON string; onto itself it changes nothing; a taken id is 422', async () => {
  await make(server, { as: 'owner', call: `PUT /devices/${from}/sensors/s/device`, json: from, expect: 204 });
  await make(server, { as: 'owner', call: `PUT /devices/${from}/sensors/s/device`, json: to, expect: 204 });
  await server.call('owner', 'POST', `/devices/${from}/sensors`, { json: { id: 's' } });
  await makeAll(server, [
    { as: 'owner', call: `PUT /devices/${from}/sensors/s/device`, text: to, expect: 422 },
    { as: 'owner', call: `PUT /devices/${from}/sensors/none/device`, text: to, expect: 404 },
    { as: 'owner', call: `PUT /devices/${from}/sensors/s/device`, text: 'no-such-device', expect: 404 },
    { as: 'owner', call: `PUT /devices/${from}/sensors/s/device`, text: 'no id', expect: 400 },
    { as: 'owner', call: `PUT /devices/${from}/sensors/s/device`, text: to, version: 'v1', expect: 404 },
  ]);
});

test('who may: the owner of both, without an API key; admins between users', async () => {
  const foreign = `foreign-${devices}`;
  await addDevice(foreign, [], 'stranger');
  for (const as of ['guest', 'stranger', 'sharer']) await move(403, { as });
  const share = (id: string, as = 'owner') =>
    make(server, { as, call: `PUT /devices/${id}/shares/sharer`, json: { scopes: ['device:update'] }, expect: 204 });
  await share(from);
  await move(403, { as: 'sharer' });
  await share(foreign, 'stranger');
  await move(403, { as: 'sharer', target: foreign });
  await move(403, { target: foreign });
  await make(server, {
    as: 'stranger',
    call: `PUT /devices/${foreign}/shares/owner`,
    json: { scopes: ['device:update'] },
    expect: 204,
  });
  await move(403, { target: foreign });
  await share(to);
  // Others than before may read it there: that is for who may share.
  await move(403, { as: 'sharer' });
  await move(204);
  const { body: key } = await server.call('owner', 'POST', '/auth/keys', { json: { name: 'k' } });
  const headers = { authorization: `Bearer ${key.key}` };
  await make(server, { call: `PUT /devices/${from}/sensors/stays/device`, text: to, headers, expect: 403 });
  const sensorsOf = async (name: string) => {
    const sql = `SELECT sensors AS n FROM usage JOIN "user" ON "user".key = usage."user" WHERE username = '${name}'`;
    return Number((await runSql(server.folder, sql))[0]?.['n']);
  };
  const before = [await sensorsOf('owner'), await sensorsOf('stranger')] as const;
  await move(204, { as: 'admin', source: to, target: foreign });
  assert.deepEqual([await sensorsOf('owner'), await sensorsOf('stranger')], [before[0] - 1, before[1] + 1]);
  await assertSound(server);
});

test('what was charged for its datapoints moves along, and arrays that were pushed before are no repeats', async () => {
  const body = JSON.stringify([{ value: 1, timestamp: day(1) }]);
  const send = (id: string) =>
    server.call('owner', 'POST', `/devices/${id}/sensors/s/values`, {
      body,
      headers: { 'content-type': 'application/json' },
    });
  await send(from);
  await push(`${from}/sensors/s`, 2, 3);
  await push(`${from}/sensors/stays`, 1);
  await server.running.engine.seal();
  await server.restart();
  const charged = async (id: string) => {
    const sql = `SELECT coalesce(sum(datapoints), 0) AS n FROM push_charge WHERE device = (SELECT key FROM device WHERE id = '${id}')`;
    return Number((await runSql(server.folder, sql))[0]?.['n']);
  };
  assert.deepEqual([await charged(from), await charged(to)], [4, 0]);
  await move(204);
  assert.deepEqual([await charged(from), await charged(to)], [1, 3]);
  await send(to);
  assert.deepEqual(await values(`${to}/sensors/s`), [1, 1, 2, 3]);
});

async function addRule(device: string): Promise<string> {
  const condition = { devices: [device], sensors: ['s'], expression: 's>5' };
  const action = { usernames: ['owner'], channels: ['none'], message: 'm' };
  return (await make(server, { as: 'owner', call: 'POST /notifications', json: { condition, action }, expect: 200 }))
    .text;
}

async function fired(rule: string): Promise<number> {
  await server.running.idle();
  return (await server.call('owner', 'GET', `/notifications/${rule}`)).body.times_sent;
}

test('rules for the device that it leaves no longer see it, those for the other do', async () => {
  const [old, other] = [await addRule(from), await addRule(to)];
  await push(`${from}/sensors/s`, 6);
  assert.deepEqual([await fired(old), await fired(other)], [1, 0]);
  await move(204);
  assert.deepEqual([await fired(old), await fired(other)], [1, 0]);
  await push(`${to}/sensors/s`, 7);
  assert.deepEqual([await fired(old), await fired(other)], [1, 1]);
});

test('rules for the other device do not see what it had before, also where the service crashes behind the move', async () => {
  const other = await addRule(to);
  await push(`${from}/sensors/s`, 6);
  assert.equal(await fired(other), 0);
  await move(204);
  await server.crash();
  assert.equal(await fired(other), 0);
  await push(`${to}/sensors/s`, 7);
  assert.equal(await fired(other), 1);
});

test('a sensor that comes back is judged by what was pushed where no rule watched it', async () => {
  const condition = { devices: [from], sensors: ['stays'], expression: 'stays>0;s<50' };
  const action = { usernames: ['owner'], channels: ['none'], message: 'low' };
  const json = { condition, action };
  const { text: id } = await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 });
  await push(`${from}/sensors/s`, 9);
  await push(`${from}/sensors/stays`, 1);
  assert.equal(await fired(id), 0);
  await move(204);
  await push(`${to}/sensors/s`, 2);
  await move(204, { source: to, target: from });
  await push(`${from}/sensors/stays`, 3);
  assert.equal(await fired(id), 1);
});

test('lists in the order of the last sign of life know the move', async () => {
  const order = async () => {
    const { body } = await server.call('owner', 'GET', '/devices?order=-heard&limit=1000');
    return body.map(({ id }: { id: string }) => id).filter((id: string) => [from, to].includes(id));
  };
  const latest = async () => {
    const { body } = await server.call('owner', 'GET', '/devices?order=-heard&limit=1000');
    // Moves and other changes are no signs of life.
    const heard = ({ sensors }: { sensors: readonly { last_value?: { date_received: string } }[] }) =>
      Math.max(0, ...sensors.map(({ last_value: last }) => (last === undefined ? 0 : Date.parse(last.date_received))));
    const times = body.map(heard);
    assert.deepEqual(
      times,
      times.toSorted((a: number, b: number) => b - a),
    );
  };
  server.clock.advance(5_000);
  await push(`${from}/sensors/s`, 1);
  assert.deepEqual((await order())[0], from);
  await latest();
  server.clock.advance(5_000);
  await move(204);
  server.clock.advance(5_000);
  await push(`${to}/sensors/s`, 2);
  assert.deepEqual(await order(), [to, from]);
  await latest();
});
