// Another id for a device (decision 42): the one before answers for a year, nobody else gets it, and what names the device
// follows.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { findingsIn } from '../../support/data.ts';
import type { As } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;
let devices = 0;
let from = '';
let to = '';
const dayMs = 24 * 3_600_000;
const yearMs = 365 * dayMs;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  devices += 1;
  [from, to] = [`before-${devices}`, `after-${devices}`];
  await addDevice(from);
});

async function addDevice(id: string, { as = 'owner' as As, visibility = 'private' } = {}): Promise<void> {
  const parts = { sensors: [{ id: 's' }], actuators: [{ id: 'a', actuator_value_type: 'number' }] };
  await make(server, { as, call: 'POST /devices', json: { id, visibility, ...parts }, expect: 204 });
}

const rename = (expect: number, { as = 'owner' as As, id = from, into = to } = {}) => {
  // Former ids are told in the order of their times.
  server.clock.advance(1);
  return make(server, { as, call: `PUT /devices/${id}/id`, text: into, expect });
};
const push = (id: string, value: number, expect = 204, as: As = 'owner') =>
  make(server, { as, call: `POST /devices/${id}/sensors/s/values`, json: { value }, expect });
const values = async (id: string) =>
  (await make(server, { as: 'owner', call: `GET /devices/${id}/sensors/s/values`, expect: 200 })).body.map(
    ({ value }: { value: unknown }) => value,
  );
const former = async (id: string, as: As = 'owner') =>
  (await make(server, { as, call: `GET /devices/${id}/former_ids`, expect: 200 })).body.map(
    (entry: { id: string }) => entry.id,
  );
async function assertSound(): Promise<void> {
  assert.deepEqual(await findingsIn(server.folder), []);
}

suite('a device that has another id', () => {
  test('is read, pushed to and set under both, shows the new one, and has all its datapoints; after a restart too', async () => {
    await push(from, 1);
    const renamed = await rename(204);
    assert.equal(renamed.headers['location'], `/api/v2/devices/${to}`);
    let n = 1;
    const held = async () => {
      for (const id of [from, to]) {
        n += 1;
        await push(id, n);
        const { body } = await make(server, { as: 'owner', call: `GET /devices/${id}`, expect: 200 });
        assert.equal(body.id, to);
        assert.equal(body.sensors[0].last_value.value, n);
        assert.deepEqual((await values(id)).at(-1), n);
        const text = String(n);
        await make(server, { as: 'owner', call: `PUT /devices/${id}/actuators/a/value`, json: n, expect: 204 });
        const set = await make(server, { as: 'owner', call: `GET /devices/${id}/actuators/a/value`, expect: 200 });
        assert.ok(set.text.includes(text));
        await make(server, { as: 'owner', call: `PUT /devices/${id}/name`, text: `name ${n}`, expect: 204 });
        const other = id === from ? to : from;
        const named = (await make(server, { as: 'owner', call: `GET /devices/${other}`, expect: 200 })).body;
        assert.equal(named.name, `name ${n}`);
        // Versions 1 and 1.1 call devices sensors.
        const older = await make(server, { as: 'owner', call: `GET /sensors/${id}`, version: 'v1', expect: 200 });
        assert.equal(older.body.id, to);
        const call = `POST /sensors/${id}/measurements/s/values`;
        await make(server, { as: 'owner', call, version: 'v1', json: { value: n + 0.5 }, expect: 200 });
        assert.equal((await values(to)).at(-1), n + 0.5);
      }
      assert.equal((await values(from)).length, (await values(to)).length);
    };
    await held();
    await server.restart();
    await held();
    await assertSound();
  });

  test('is told so by answers to the former id alone, with its address for who may view it', async () => {
    await push(from, 1);
    await rename(204);
    await make(server, {
      as: 'owner',
      call: `PUT /devices/${to}/shares/sharer`,
      json: { scopes: ['device-data:create'] },
      expect: 204,
    });
    const { headers } = await make(server, {
      as: 'owner',
      call: `GET /devices/${from}/sensors/s/values?limit=1`,
      expect: 200,
    });
    assert.match(String(headers['deprecation']), /^@\d{10}$/);
    assert.equal(Date.parse(String(headers['sunset'])), Math.floor((server.clock.now() + yearMs) / 1000) * 1000);
    assert.equal(headers['link'], `</api/v2/devices/${to}/sensors/s/values>; rel="successor-version"`);
    const present = await make(server, { as: 'owner', call: `GET /devices/${to}`, expect: 200 });
    assert.equal(present.headers['sunset'], undefined);
    const older = await make(server, {
      as: 'owner',
      call: `GET /domains/x/sensors/${from}`,
      version: 'v1',
      expect: 200,
    });
    assert.equal(older.headers['link'], `</api/v1/domains/x/sensors/${to}>; rel="successor-version"`);
    const pushed = await make(server, {
      as: 'sharer',
      call: `POST /devices/${from}/sensors/s/values`,
      json: [{ value: 3 }],
      expect: 204,
    });
    assert.match(String(pushed.headers['sunset']), /GMT$/);
    assert.equal(pushed.headers['link'], undefined, 'the new id is not for who may not view it');
    const unknown = await make(server, {
      as: 'sharer',
      call: `POST /devices/${from}/sensors/none/values`,
      json: { value: 3 },
      expect: 404,
    });
    assert.ok(!unknown.text.includes(to), unknown.text);
  });

  test('answers by the former id for a year; then anybody may have it', async () => {
    await rename(204);
    server.clock.advance(yearMs - 1000);
    await server.running.idle();
    await push(from, 1);
    await make(server, { as: 'stranger', call: 'POST /devices', json: { id: from }, expect: 422 });
    server.clock.advance(1000);
    await push(from, 2, 404);
    await make(server, { as: 'owner', call: `GET /devices/${from}`, expect: 404 });
    assert.deepEqual(await former(to), []);
    await make(server, {
      as: 'stranger',
      call: 'POST /devices',
      json: { id: from, sensors: [{ id: 's' }] },
      expect: 204,
    });
    await push(from, 3, 403);
    await push(from, 4, 204, 'stranger');
    assert.deepEqual(await values(to), [1]);
    await server.restart();
    assert.deepEqual(await values(to), [1]);
    await make(server, { as: 'owner', call: `GET /devices/${from}`, expect: 403 });
    await assertSound();
  });

  test('keeps its id for itself: nobody takes it by creating or renaming, and its owner goes back to it', async () => {
    const other = `other-${devices}`;
    await addDevice(other);
    await rename(204);
    for (const as of ['guest', 'stranger', 'owner', 'admin'] as const)
      await make(server, { as, call: 'POST /devices', json: { id: from }, expect: 422 });
    await rename(422, { id: other, into: from });
    await rename(422, { id: other, into: to });
    await make(server, { as: 'owner', call: 'POST /sensors', version: 'v1', json: { id: from }, expect: 422 });
    await rename(204, { id: from, into: from });
    assert.deepEqual(await former(from), [to]);
    for (const id of [from, to]) await push(id, 1);
    assert.equal((await make(server, { as: 'owner', call: `GET /devices/${to}`, expect: 200 })).body.id, from);
    await assertSound();
  });

  test('answers directly by each id of a chain; so many at once, and no more until one is ended', async () => {
    let id = from;
    for (let n = 1; n <= limits.formerIdsMax; n++) {
      // A request under an earlier id remembers where it leads.
      await push(from, n);
      await rename(204, { id, into: `${to}-${n}` });
      id = `${to}-${n}`;
    }
    server.clock.advance(dayMs);
    const former1 = await former(id);
    assert.equal(former1.length, limits.formerIdsMax);
    assert.equal(former1.at(-1), from);
    for (const each of former1) {
      const { body, headers } = await make(server, { as: 'owner', call: `GET /devices/${each}`, expect: 200 });
      assert.equal(body.id, id);
      assert.ok(String(headers['link']).includes(`/${id}>`));
    }
    const refused = await rename(422, { id, into: `${to}-beyond` });
    assert.match(refused.body.detail, /former ids/);
    await rename(204, { id, into: `${to}-1` });
    await rename(204, { id: `${to}-1`, into: id });
    await make(server, { as: 'owner', call: `DELETE /devices/${id}/former_ids/${from}`, expect: 204 });
    await make(server, { as: 'owner', call: `DELETE /devices/${id}/former_ids/${from}`, expect: 404 });
    await push(from, 1, 404);
    server.clock.advance(dayMs);
    await rename(204, { id, into: `${to}-beyond` });
    await make(server, {
      as: 'stranger',
      call: 'POST /devices',
      json: { id: from, sensors: [{ id: 's' }] },
      expect: 204,
    });
    await push(from, 2, 403);
    assert.equal((await values(`${to}-1`)).length, limits.formerIdsMax);
    await assertSound();
  });

  test('frees its ids when it is deleted, by whichever of them', async () => {
    await push(from, 1);
    await rename(204);
    await make(server, { as: 'owner', call: `DELETE /devices/${from}`, expect: 204 });
    for (const id of [from, to]) {
      await push(id, 1, 404);
      await addDevice(id, { as: 'stranger' });
      await push(id, 1, 403);
      assert.deepEqual(
        (await make(server, { as: 'stranger', call: `GET /devices/${id}/former_ids`, expect: 200 })).body,
        [],
      );
    }
    await assertSound();
  });
});

suite('who may', () => {
  test('the owner and admins, without an API key', async () => {
    const shared = ['device:view', 'device:update', 'device:delete', 'device-data:view', 'device-data:create'];
    await make(server, {
      as: 'owner',
      call: `PUT /devices/${from}/shares/sharer`,
      json: { scopes: shared },
      expect: 204,
    });
    for (const as of ['guest', 'stranger', 'sharer'] as const) await rename(403, { as });
    const { body: key } = await server.call('owner', 'POST', '/auth/keys', { json: { name: 'k' } });
    const headers = { authorization: `Bearer ${key.key}` };
    await make(server, { call: `PUT /devices/${from}/id`, text: to, headers, expect: 403 });
    await make(server, { call: `GET /devices/${from}/former_ids`, headers, expect: 403 });
    await rename(204);
    for (const as of ['guest', 'stranger', 'sharer'] as const)
      for (const id of [from, to])
        await makeAll(server, [
          { as, call: `PUT /devices/${id}/id`, text: `x-${to}`, expect: 403 },
          { as, call: `GET /devices/${id}/former_ids`, expect: 403 },
          { as, call: `DELETE /devices/${id}/former_ids/${from}`, expect: 403 },
        ]);
    await rename(204, { as: 'admin', id: to, into: `${to}-admin` });
    assert.deepEqual(await former(from, 'admin'), [to, from]);
    await make(server, { as: 'admin', call: `DELETE /devices/${to}/former_ids/${to}`, expect: 204 });
  });

  test('what is no id, no device, or not version 2', async () => {
    await makeAll(server, [
      { as: 'owner', call: `PUT /devices/${from}/id`, text: 'no id', expect: 400 },
      { as: 'owner', call: `PUT /devices/${from}/id`, text: '', expect: 400 },
      { as: 'owner', call: `PUT /devices/${from}/id`, json: 'x'.repeat(257), expect: 400 },
      { as: 'owner', call: 'PUT /devices/no-such-device/id', text: to, expect: 404 },
      { as: 'owner', call: `PUT /sensors/${from}/id`, text: to, version: 'v1', expect: 404 },
      { as: 'owner', call: `PUT /devices/${from}/id`, json: from, expect: 204 },
    ]);
    assert.deepEqual(await former(from), [], 'its own id is no change');
  });

  test('a stranger learns nothing: the former id of a private device answers as the device does', async () => {
    await rename(204);
    for (const as of ['guest', 'stranger'] as const)
      for (const [method, path, carries] of [
        ['GET', '', {}],
        ['GET', '/sensors/s/values', {}],
        ['POST', '/sensors/s/values', { json: { value: 1 } }],
        ['PUT', '/actuators/a/value', { json: 1 }],
        ['PUT', '/owner', { text: 'stranger' }],
        ['DELETE', '', {}],
      ] as const) {
        const answers = [];
        for (const id of [from, to])
          answers.push(await make(server, { as, call: `${method} /devices/${id}${path}`, ...carries, expect: 403 }));
        const [old, present] = answers.map(({ text, headers }) => [
          text.replaceAll(from, '…').replaceAll(to, '…'),
          headers['sunset'],
          headers['link'],
        ]);
        assert.deepEqual(old, present);
        assert.ok(!answers[0]?.text.includes(to), 'the new id is not told');
      }
  });
});

test('who may not view a device asks for rights on it by a former id, and is not told the new one', async () => {
  const json = { scopes: ['device-data:create'] };
  await make(server, { as: 'owner', call: `PUT /devices/${from}/shares/sharer`, json, expect: 204 });
  await rename(204);
  const explain = (as: As, id: string, expect = 200) =>
    make(server, { as, call: `GET /devices/${id}/permissions/explain`, expect });
  for (const as of ['guest', 'stranger', 'sharer'] as const) {
    const { body, text, headers } = await explain(as, from);
    assert.equal(body.device, from);
    assert.ok(!`${text}${JSON.stringify(headers)}`.includes(to), 'nowhere');
    const call = `GET /devices/${from}/permissions/explain?username=owner`;
    assert.ok(!(await make(server, { as, call, expect: 403 })).text.includes(to));
  }
  for (const as of ['owner', 'admin'] as const) assert.equal((await explain(as, from)).body.device, to);
});

suite('what names the device', () => {
  const memberOf = async (id: string, as: As = 'owner') =>
    (await make(server, { as, call: `GET /projects/${id}`, expect: 200 })).body.device_ids;
  const project = async (as: As, ids: string[]) =>
    (
      await make(server, {
        as,
        call: 'POST /projects',
        json: { name: 'p', device_ids: ids, gateway_ids: [] },
        expect: 200,
      })
    ).text;

  test('follows in projects, and rights that shares of them give stay', async () => {
    const own = await project('owner', ['first', from, `x${from}`]);
    const foreign = await project('stranger', [from]);
    const json = { scopes: ['project:view', 'device:view'], with_devices: true };
    await make(server, { as: 'owner', call: `PUT /projects/${own}/shares/sharer`, json, expect: 204 });
    await make(server, { as: 'sharer', call: `GET /devices/${from}`, expect: 200 });
    await rename(204);
    assert.deepEqual(await memberOf(own), ['first', to, `x${from}`]);
    assert.deepEqual(await memberOf(foreign, 'stranger'), [from], 'who may not view it is not told its new id');
    for (const id of [from, to]) await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect: 200 });
    const device_ids = [from, 'other'];
    await make(server, { as: 'owner', call: `PUT /projects/${own}/device_ids`, json: device_ids, expect: 204 });
    assert.deepEqual(await memberOf(own), [to, 'other']);
    for (const id of [from, to]) await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect: 200 });
    assert.deepEqual(await memberOf(await project('stranger', [from]), 'stranger'), [from]);
    await make(server, { as: 'owner', call: `DELETE /projects/${own}/shares/sharer`, expect: 204 });
    for (const id of [from, to]) await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect: 403 });
    await assertSound();
  });

  test('who may change a project, but not view the device, is not told its new id by it', async () => {
    const own = await project('owner', ['first']);
    const json = { scopes: ['project:view', 'project:update'] };
    await make(server, { as: 'owner', call: `PUT /projects/${own}/shares/sharer`, json, expect: 204 });
    await rename(204);
    const call = `PUT /projects/${own}/device_ids`;
    const named = async (as: As) => {
      await make(server, { as, call, json: [from], expect: 204 });
      return await memberOf(own, 'sharer');
    };
    assert.deepEqual(await named('sharer'), [from]);
    assert.deepEqual(await named('owner'), [to]);
    const view = { scopes: ['device:view'] };
    await make(server, { as: 'owner', call: `PUT /devices/${to}/shares/sharer`, json: view, expect: 204 });
    assert.deepEqual(await named('sharer'), [to]);
    assert.deepEqual(await named('admin'), [to]);
  });

  test('a project that names a former id gives rights by its shares, once it is of the owner; until that id is ended', async () => {
    const json = { scopes: ['project:view', 'device:view'], with_devices: true };
    const foreign = await project('stranger', [from]);
    await make(server, { as: 'stranger', call: `PUT /projects/${foreign}/shares/sharer`, json, expect: 204 });
    const seen = async (expect: number) => {
      for (const id of [from, to]) await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect });
      const { body } = await make(server, { as: 'sharer', call: `GET /devices?q=id==${to}`, expect: 200 });
      assert.equal(body.length, expect === 200 ? 1 : 0);
    };
    await rename(204);
    await seen(403);
    await make(server, { as: 'owner', call: `PUT /devices/${to}/owner`, text: 'stranger', expect: 204 });
    await seen(200);
    const both = await project('stranger', [from, to]);
    await make(server, { as: 'stranger', call: `PUT /projects/${both}/shares/sharer`, json, expect: 204 });
    const explain = `GET /devices/${to}/permissions/explain`;
    const { from: sources } = (await make(server, { as: 'sharer', call: explain, expect: 200 })).body.scopes[0];
    assert.deepEqual(sources.map((source: { project: string }) => source.project).sort(), [foreign, both].sort());
    await make(server, { as: 'stranger', call: `DELETE /projects/${both}/shares/sharer`, expect: 204 });
    await make(server, { as: 'stranger', call: `DELETE /projects/${foreign}/shares/sharer`, expect: 204 });
    await seen(403);
    await make(server, { as: 'stranger', call: `PUT /projects/${foreign}/shares/sharer`, json, expect: 204 });
    await seen(200);
    await rename(204, { as: 'stranger', id: to, into: `${to}-2` });
    await make(server, { as: 'sharer', call: `GET /devices/${from}`, expect: 200 });
    await make(server, { as: 'stranger', call: `DELETE /devices/${from}/former_ids/${from}`, expect: 204 });
    await make(server, { as: 'sharer', call: `GET /devices/${to}`, expect: 403 });
  });

  test('a share that is ended by the former id ends for both', async () => {
    await rename(204);
    const json = { scopes: ['device:view'] };
    await make(server, { as: 'owner', call: `PUT /devices/${from}/shares/sharer`, json, expect: 204 });
    for (const id of [from, to]) await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect: 200 });
    await make(server, { as: 'owner', call: `DELETE /devices/${from}/shares/sharer`, expect: 204 });
    for (const id of [from, to]) await make(server, { as: 'sharer', call: `GET /devices/${id}`, expect: 403 });
  });

  test('API keys of the device stay good, by either id, and name the new one', async () => {
    const json = { name: 'k', devices: [from, 'elsewhere'] };
    const { body: key } = await server.call('owner', 'POST', '/auth/keys', { json });
    const headers = { authorization: `Bearer ${key.key}` };
    const pushes = (id: string, expect: number) =>
      make(server, { call: `POST /devices/${id}/sensors/s/values`, json: { value: 1 }, headers, expect });
    await pushes(from, 204);
    await rename(204);
    await pushes(from, 204);
    await pushes(to, 204);
    const keys = (await make(server, { as: 'owner', call: 'GET /auth/keys', expect: 200 })).body;
    assert.deepEqual(keys.find(({ id }: { id: string }) => id === key.id).devices, [to, 'elsewhere']);
    const seen = await make(server, { call: 'GET /devices', headers, expect: 200 });
    assert.deepEqual(
      seen.body.map(({ id }: { id: string }) => id),
      [to],
    );
    await make(server, { as: 'owner', call: `DELETE /devices/${to}/former_ids/${from}`, expect: 204 });
    await addDevice(from);
    await pushes(from, 403);
    await pushes(to, 204);
  });

  test('rules fire for datapoints under either id, once each, and name the new one; strangers’ rules do not', async () => {
    const condition = { devices: [from], sensors: ['s'], expression: 's>0' };
    const action = { usernames: ['owner'], channels: ['none'], message: '{s}' };
    const add = async (as: As, rule: object) =>
      (await make(server, { as, call: 'POST /notifications', json: rule, expect: 200 })).text;
    const plain = await add('owner', { condition, action });
    const edges = await add('owner', { condition, action, hysteresis: 's<0' });
    const actuation = { type: 'ActuationAction', value: { device_id: from, actuator_id: 'a', actuator_value: '{s}' } };
    const setting = await add('owner', { condition, action: actuation });
    const foreign = await add('stranger', { condition, action });
    const sent = async (id: string) => {
      await server.running.idle();
      return (await server.call('admin', 'GET', `/notifications/${id}`)).body;
    };
    await push(from, 1);
    assert.equal((await sent(plain)).times_sent, 1);
    assert.equal((await sent(edges)).times_sent, 1);
    await rename(204);
    await push(from, 2);
    await push(to, 3);
    assert.equal((await sent(plain)).times_sent, 3);
    assert.equal((await sent(edges)).times_sent, 1, 'what it remembers of the device is kept');
    assert.equal((await sent(setting)).times_sent, 3);
    assert.deepEqual((await sent(plain)).condition.devices, [to]);
    assert.equal((await sent(setting)).action.value.device_id, to);
    assert.deepEqual((await sent(foreign)).condition.devices, [from]);
    const set = await make(server, { as: 'owner', call: `GET /devices/${to}/actuators/a/value`, expect: 200 });
    assert.match(set.text, /3/);
    const later = await add('owner', { condition, action });
    const laterForeign = await add('stranger', { condition, action });
    assert.deepEqual((await sent(later)).condition.devices, [from], 'a rule that is made later may name it by either');
    assert.deepEqual((await sent(laterForeign)).condition.devices, [from]);
    await push(from, 4);
    assert.equal((await sent(later)).times_sent, 1);
    await server.restart();
    await push(from, -1);
    await push(to, 5);
    assert.equal((await sent(plain)).times_sent, 5);
    assert.equal((await sent(edges)).times_sent, 2);
  });

  test('bulk lines, imports, reads of several devices and live streams take either id', async () => {
    await rename(204);
    const csv = [from, to].map((id, n) => `${id},s,2026-01-0${n + 1}T00:00:00Z,${n}`).join('\n');
    const headers = { 'content-type': 'text/csv' };
    const bulk = await server.call('owner', 'POST', '/datapoints', {
      text: `device_id,sensor_id,timestamp,value\n${csv}\n`,
      headers,
    });
    assert.deepEqual(bulk.body, { accepted: 2, refused: [] });
    assert.deepEqual(await values(to), [0, 1]);
    for (const id of [from, to]) {
      const rows = (await make(server, { as: 'owner', call: `GET /sensors_data?device_id=${id}`, expect: 200 })).body;
      assert.deepEqual(
        rows.map(({ device_id }: { device_id: string }) => device_id),
        [to, to],
      );
      const latest = (await make(server, { as: 'owner', call: `GET /latest?device_id=${id}`, expect: 200 })).body;
      assert.deepEqual(
        latest.map(({ device_id }: { device_id: string }) => device_id),
        [to],
      );
    }
  });
});

test('pushes that are under way while ids change are all stored, each once', async () => {
  const writing = Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      await server
        .call('owner', 'POST', `/devices/${from}/sensors/s/values`, { json: { value: n } })
        .then(({ status }) => assert.equal(status, 204));
    }),
  );
  let id = from;
  for (const into of [to, `${to}-2`, to, from, to]) {
    const { status } = await server.call('owner', 'PUT', `/devices/${id}/id`, { text: into });
    assert.equal(status, 204);
    id = into;
  }
  await writing;
  const { body } = await server.call('owner', 'GET', `/devices/${from}/sensors/s/values?limit=1000`);
  assert.deepEqual(
    body.map(({ value }: { value: number }) => value).sort((a: number, b: number) => a - b),
    Array.from({ length: 200 }, (_, n) => n),
  );
});

suite('a rename that is refused, or that concerns others', () => {
  const shareWith = (id: string, scopes: string[]) =>
    make(server, { as: 'owner', call: `PUT /devices/${id}/shares/sharer`, json: { scopes }, expect: 204 });

  test('no device is renamed more than some times a day, and none more than its owner has follow', async () => {
    let id = from;
    for (let n = 0; n < limits.renamesPerDeviceMax; n++) {
      const into = id === from ? to : from;
      await rename(204, { id, into });
      id = into;
    }
    const refused = await rename(429, { id, into: `${to}-more` });
    assert.ok(Number(refused.headers['retry-after']) > 3600);
    assert.deepEqual(await former(id), [from === id ? to : from], 'nothing has changed');
    server.clock.advance(dayMs);
    await rename(204, { id, into: `${to}-more` });
  });

  test('one user who renames many devices at once keeps nobody else from it', async () => {
    const many = Array.from({ length: 6 }, (_, n) => `${from}-at-once-${n}`);
    for (const id of many) await addDevice(id);
    const theirs = `${from}-theirs`;
    await addDevice(theirs, { as: 'stranger' });
    const put = (as: As, id: string) => server.call(as, 'PUT', `/devices/${id}/id`, { text: `${id}-new` });
    const [other, ...own] = (
      await Promise.all([...many.map((id) => put('owner', id)), put('stranger', theirs)])
    ).reverse();
    assert.equal(other?.status, 204);
    for (const { status } of own) assert.ok([204, 503].includes(status), String(status));
    assert.ok(own.some(({ status }) => status === 204));
  });

  test('more of the owner’s than may follow in one commit refuses it; what strangers have does not', async () => {
    const project = (as: As, n: number) =>
      make(server, {
        as,
        call: 'POST /projects',
        json: { name: `p${n}`, device_ids: [from], gateway_ids: [] },
        expect: 200,
      });
    const count = limits.renameFollowersMax + 1;
    for (let n = 0; n < count; n++) await project('stranger', n);
    const own = [];
    for (let n = 0; n < count; n++) own.push((await project('owner', n)).text);
    const refused = await rename(422);
    assert.match(refused.body.detail, /too many to follow/);
    await push(from, 1);
    await make(server, { as: 'owner', call: `DELETE /projects/${own[0]}`, expect: 204 });
    await rename(204);
    for (const each of own.slice(1, 4)) {
      const { body } = await make(server, { as: 'owner', call: `GET /projects/${each}`, expect: 200 });
      assert.deepEqual(body.device_ids, [to]);
    }
    await assertSound();
  });

  test('a sharer’s key and rule go on with the id that they name, and the key does not reach more', async () => {
    await shareWith(from, ['device:view', 'device-data:view', 'device-data:create']);
    const { body: key } = await server.call('sharer', 'POST', '/auth/keys', { json: { name: 'k', devices: [from] } });
    const headers = { authorization: `Bearer ${key.key}` };
    const rule = (
      await make(server, {
        as: 'sharer',
        call: 'POST /notifications',
        json: {
          condition: { devices: [from], sensors: ['s'], expression: 's>0' },
          action: { usernames: ['sharer'], channels: ['none'], message: '{s}' },
          hysteresis: 's<0',
        },
        expect: 200,
      })
    ).text;
    const sent = async () => {
      await server.running.idle();
      return (await server.call('sharer', 'GET', `/notifications/${rule}`)).body.times_sent;
    };
    await push(from, 1);
    assert.equal(await sent(), 1);
    await rename(204);
    await push(to, 2);
    assert.equal(await sent(), 1, 'what it remembers is kept');
    for (const value of [-1, 3]) await push(to, value);
    assert.equal(await sent(), 2);
    await server.restart();
    for (const value of [4, -1, 5]) await push(from, value);
    assert.equal(await sent(), 3);
    for (const id of [from, to])
      await make(server, { call: `GET /devices/${id}/sensors/s/values`, headers, expect: 200 });
    const listed = await make(server, { call: 'GET /devices', headers, expect: 200 });
    assert.deepEqual(
      listed.body.map(({ id }: { id: string }) => id),
      [to],
    );
    // Whoever takes the former id has nothing of the old.
    await make(server, { as: 'owner', call: `DELETE /devices/${to}/former_ids/${from}`, expect: 204 });
    await addDevice(from);
    await make(server, { call: `GET /devices/${to}/sensors/s/values`, headers, expect: 403 });
    await push(to, -1);
    await push(to, 6);
    assert.equal(await sent(), 3, 'the rule watches the device that has its id');
  });

  test('what a sharer’s rule remembers since the rename counts after the device went back to its former id', async () => {
    await shareWith(from, ['device:view', 'device-data:view']);
    const condition = { devices: [from], sensors: ['s'], expression: 's>0' };
    const action = { usernames: ['sharer'], channels: ['none'], message: '{s}' };
    const json = { condition, action, hysteresis: 's<0' };
    const rule = (await make(server, { as: 'sharer', call: 'POST /notifications', json, expect: 200 })).text;
    const sent = async () => {
      await server.running.idle();
      return (await server.call('sharer', 'GET', `/notifications/${rule}`)).body.times_sent;
    };
    await push(from, 1);
    assert.equal(await sent(), 1);
    await rename(204);
    await push(to, -1);
    assert.equal(await sent(), 1);
    await rename(204, { id: to, into: from });
    await push(from, 2);
    assert.equal(await sent(), 2, 'it was armed again');
    await rename(204);
    await server.restart();
    await push(from, 3);
    assert.equal(await sent(), 2);
  });

  test('the old owner’s keys lose a device that is handed over, by the former id too', async () => {
    const key = async () =>
      (await server.call('owner', 'POST', '/auth/keys', { json: { name: 'k', devices: [from] } })).body;
    const before = await key();
    await rename(204);
    const after = await key();
    await make(server, { as: 'owner', call: `PUT /devices/${to}/owner`, text: 'stranger', expect: 204 });
    const keys = (await make(server, { as: 'owner', call: 'GET /auth/keys', expect: 200 })).body;
    for (const { id } of [before, after])
      assert.deepEqual(keys.find((each: { id: string }) => each.id === id).devices, []);
    await push(from, 1, 403);
    await rename(403, { id: from, into: `${to}-2` });
    await rename(204, { as: 'stranger', id: from, into: `${to}-2` });
  });

  test('a clock that is ahead frees no former id', async () => {
    await rename(204);
    await push(from, 1);
    server.jump(2 * yearMs);
    await server.running.idle();
    await make(server, { as: 'stranger', call: 'POST /devices', json: { id: from }, expect: 422 });
    await push(from, 2);
    server.jump(-2 * yearMs);
    await server.running.idle();
    await push(from, 3);
  });
});

test('a device that gets another id while its sensor or itself is removed is either, and nothing acknowledged is lost', async () => {
  for (const [n, removed] of ['/sensors/s', ''].entries()) {
    const [id, into] = [`${from}-${n}`, `${to}-${n}`];
    await addDevice(id);
    const pushed = (by: string) =>
      server.call('owner', 'POST', `/devices/${by}/sensors/s/values`, { json: { value: 1 } });
    const answers = await Promise.all([
      ...[id, into].flatMap((by) => Array.from({ length: 20 }, () => pushed(by))),
      server.call('owner', 'PUT', `/devices/${id}/id`, { text: into }),
      server.call('owner', 'DELETE', `/devices/${id}${removed}`),
      ...[id, into].flatMap((by) => Array.from({ length: 20 }, () => pushed(by))),
    ]);
    for (const { status } of answers) assert.ok([204, 404, 503].includes(status), String(status));
    const gone = await server.call('owner', 'DELETE', `/devices/${into}${removed}`);
    const again = await server.call('owner', 'DELETE', `/devices/${id}${removed}`);
    // Nothing is left locked: what was answered 503 is done by another attempt.
    assert.ok([204, 404].includes(gone.status) && [204, 404].includes(again.status));
    assert.equal((await pushed(id)).status, 404);
    assert.equal((await pushed(into)).status, 404);
  }
  await assertSound();
});
