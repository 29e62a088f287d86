// What names a device that has another id (decision 42): it follows; and what others have of the device is not harmed.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import type { As } from '../../support/people.ts';
import { renamedDevices, yearMs } from '../../support/renamed-devices.ts';
import { assertSound } from '../../support/sound-store.ts';

const renamed = renamedDevices();
const { addDevice, rename, push, values, former } = renamed;
const dayMs = 24 * 3_600_000;

suite('what names the device', () => {
  const memberOf = async (id: string, as: As = 'owner') =>
    (await make(renamed.server, { as, call: `GET /projects/${id}`, expect: 200 })).body.device_ids;
  const project = async (as: As, ids: string[]) =>
    (
      await make(renamed.server, {
        as,
        call: 'POST /projects',
        json: { name: 'p', device_ids: ids, gateway_ids: [] },
        expect: 200,
      })
    ).text;

  test('follows in projects, and rights that shares of them give stay', async () => {
    const own = await project('owner', ['first', renamed.from, `x${renamed.from}`]);
    const foreign = await project('stranger', [renamed.from]);
    const json = { scopes: ['project:view', 'device:view'], with_devices: true };
    await make(renamed.server, { as: 'owner', call: `PUT /projects/${own}/shares/sharer`, json, expect: 204 });
    await make(renamed.server, { as: 'sharer', call: `GET /devices/${renamed.from}`, expect: 200 });
    await rename(204);
    assert.deepEqual(await memberOf(own), ['first', renamed.to, `x${renamed.from}`]);
    assert.deepEqual(await memberOf(foreign, 'stranger'), [renamed.from], 'who may not view it is not told its new id');
    for (const id of [renamed.from, renamed.to])
      await make(renamed.server, { as: 'sharer', call: `GET /devices/${id}`, expect: 200 });
    const device_ids = [renamed.from, 'other'];
    await make(renamed.server, { as: 'owner', call: `PUT /projects/${own}/device_ids`, json: device_ids, expect: 204 });
    assert.deepEqual(await memberOf(own), [renamed.to, 'other']);
    for (const id of [renamed.from, renamed.to])
      await make(renamed.server, { as: 'sharer', call: `GET /devices/${id}`, expect: 200 });
    assert.deepEqual(await memberOf(await project('stranger', [renamed.from]), 'stranger'), [renamed.from]);
    await make(renamed.server, { as: 'owner', call: `DELETE /projects/${own}/shares/sharer`, expect: 204 });
    for (const id of [renamed.from, renamed.to])
      await make(renamed.server, { as: 'sharer', call: `GET /devices/${id}`, expect: 403 });
    await assertSound(renamed.server);
  });

  test('who may change a project, but not view the device, is not told its new id by it', async () => {
    const own = await project('owner', ['first']);
    const json = { scopes: ['project:view', 'project:update'] };
    await make(renamed.server, { as: 'owner', call: `PUT /projects/${own}/shares/sharer`, json, expect: 204 });
    await rename(204);
    const call = `PUT /projects/${own}/device_ids`;
    const named = async (as: As) => {
      await make(renamed.server, { as, call, json: [renamed.from], expect: 204 });
      return await memberOf(own, 'sharer');
    };
    assert.deepEqual(await named('sharer'), [renamed.from]);
    assert.deepEqual(await named('owner'), [renamed.to]);
    const view = { scopes: ['device:view'] };
    await make(renamed.server, {
      as: 'owner',
      call: `PUT /devices/${renamed.to}/shares/sharer`,
      json: view,
      expect: 204,
    });
    assert.deepEqual(await named('sharer'), [renamed.to]);
    assert.deepEqual(await named('admin'), [renamed.to]);
  });

  test('a project that names a former id gives rights by its shares, once it is of the owner; until that id is ended', async () => {
    const json = { scopes: ['project:view', 'device:view'], with_devices: true };
    const foreign = await project('stranger', [renamed.from]);
    await make(renamed.server, { as: 'stranger', call: `PUT /projects/${foreign}/shares/sharer`, json, expect: 204 });
    const seen = async (expect: number) => {
      for (const id of [renamed.from, renamed.to])
        await make(renamed.server, { as: 'sharer', call: `GET /devices/${id}`, expect });
      const { body } = await make(renamed.server, {
        as: 'sharer',
        call: `GET /devices?q=id==${renamed.to}`,
        expect: 200,
      });
      assert.equal(body.length, expect === 200 ? 1 : 0);
    };
    await rename(204);
    await seen(403);
    await make(renamed.server, {
      as: 'owner',
      call: `PUT /devices/${renamed.to}/owner`,
      text: 'stranger',
      expect: 204,
    });
    await seen(200);
    const both = await project('stranger', [renamed.from, renamed.to]);
    await make(renamed.server, { as: 'stranger', call: `PUT /projects/${both}/shares/sharer`, json, expect: 204 });
    const explain = `GET /devices/${renamed.to}/permissions/explain`;
    const { from: sources } = (await make(renamed.server, { as: 'sharer', call: explain, expect: 200 })).body.scopes[0];
    assert.deepEqual(sources.map((source: { project: string }) => source.project).sort(), [foreign, both].sort());
    await make(renamed.server, { as: 'stranger', call: `DELETE /projects/${both}/shares/sharer`, expect: 204 });
    await make(renamed.server, { as: 'stranger', call: `DELETE /projects/${foreign}/shares/sharer`, expect: 204 });
    await seen(403);
    await make(renamed.server, { as: 'stranger', call: `PUT /projects/${foreign}/shares/sharer`, json, expect: 204 });
    await seen(200);
    await rename(204, { as: 'stranger', id: renamed.to, into: `${renamed.to}-2` });
    await make(renamed.server, { as: 'sharer', call: `GET /devices/${renamed.from}`, expect: 200 });
    await make(renamed.server, {
      as: 'stranger',
      call: `DELETE /devices/${renamed.from}/former_ids/${renamed.from}`,
      expect: 204,
    });
    await make(renamed.server, { as: 'sharer', call: `GET /devices/${renamed.to}`, expect: 403 });
  });

  test('a share that is ended by the former id ends for both', async () => {
    await rename(204);
    const json = { scopes: ['device:view'] };
    await make(renamed.server, { as: 'owner', call: `PUT /devices/${renamed.from}/shares/sharer`, json, expect: 204 });
    for (const id of [renamed.from, renamed.to])
      await make(renamed.server, { as: 'sharer', call: `GET /devices/${id}`, expect: 200 });
    await make(renamed.server, { as: 'owner', call: `DELETE /devices/${renamed.from}/shares/sharer`, expect: 204 });
    for (const id of [renamed.from, renamed.to])
      await make(renamed.server, { as: 'sharer', call: `GET /devices/${id}`, expect: 403 });
  });

  test('API keys of the device stay good, by either id, and name the new one', async () => {
    const json = { name: 'k', devices: [renamed.from, 'elsewhere'] };
    const { body: key } = await renamed.server.call('owner', 'POST', '/auth/keys', { json });
    const headers = { authorization: `Bearer ${key.key}` };
    const pushes = (id: string, expect: number) =>
      make(renamed.server, { call: `POST /devices/${id}/sensors/s/values`, json: { value: 1 }, headers, expect });
    await pushes(renamed.from, 204);
    await rename(204);
    await pushes(renamed.from, 204);
    await pushes(renamed.to, 204);
    const keys = (await make(renamed.server, { as: 'owner', call: 'GET /auth/keys', expect: 200 })).body;
    assert.deepEqual(keys.find(({ id }: { id: string }) => id === key.id).devices, [renamed.to, 'elsewhere']);
    const seen = await make(renamed.server, { call: 'GET /devices', headers, expect: 200 });
    assert.deepEqual(
      seen.body.map(({ id }: { id: string }) => id),
      [renamed.to],
    );
    await make(renamed.server, {
      as: 'owner',
      call: `DELETE /devices/${renamed.to}/former_ids/${renamed.from}`,
      expect: 204,
    });
    await addDevice(renamed.from);
    await pushes(renamed.from, 403);
    await pushes(renamed.to, 204);
  });

  test('rules fire for datapoints under either id, once each, and name the new one; strangers’ rules do not', async () => {
    const condition = { devices: [renamed.from], sensors: ['s'], expression: 's>0' };
    const action = { usernames: ['owner'], channels: ['none'], message: '{s}' };
    const add = async (as: As, rule: object) =>
      (await make(renamed.server, { as, call: 'POST /notifications', json: rule, expect: 200 })).text;
    const plain = await add('owner', { condition, action });
    const edges = await add('owner', { condition, action, hysteresis: 's<0' });
    const actuation = {
      type: 'ActuationAction',
      value: { device_id: renamed.from, actuator_id: 'a', actuator_value: '{s}' },
    };
    const setting = await add('owner', { condition, action: actuation });
    const foreign = await add('stranger', { condition, action });
    const sent = async (id: string) => {
      await renamed.server.running.idle();
      return (await renamed.server.call('admin', 'GET', `/notifications/${id}`)).body;
    };
    await push(renamed.from, 1);
    assert.equal((await sent(plain)).times_sent, 1);
    assert.equal((await sent(edges)).times_sent, 1);
    await rename(204);
    await push(renamed.from, 2);
    await push(renamed.to, 3);
    assert.equal((await sent(plain)).times_sent, 3);
    assert.equal((await sent(edges)).times_sent, 1, 'what it remembers of the device is kept');
    assert.equal((await sent(setting)).times_sent, 3);
    assert.deepEqual((await sent(plain)).condition.devices, [renamed.to]);
    assert.equal((await sent(setting)).action.value.device_id, renamed.to);
    assert.deepEqual((await sent(foreign)).condition.devices, [renamed.from]);
    const set = await make(renamed.server, {
      as: 'owner',
      call: `GET /devices/${renamed.to}/actuators/a/value`,
      expect: 200,
    });
    assert.match(set.text, /3/);
    const later = await add('owner', { condition, action });
    const laterForeign = await add('stranger', { condition, action });
    assert.deepEqual(
      (await sent(later)).condition.devices,
      [renamed.from],
      'a rule that is made later may name it by either',
    );
    assert.deepEqual((await sent(laterForeign)).condition.devices, [renamed.from]);
    await push(renamed.from, 4);
    assert.equal((await sent(later)).times_sent, 1);
    await renamed.server.restart();
    await push(renamed.from, -1);
    await push(renamed.to, 5);
    assert.equal((await sent(plain)).times_sent, 5);
    assert.equal((await sent(edges)).times_sent, 2);
  });

  test('bulk lines, imports, reads of several devices and live streams take either id', async () => {
    await rename(204);
    const csv = [renamed.from, renamed.to].map((id, n) => `${id},s,2026-01-0${n + 1}T00:00:00Z,${n}`).join('\n');
    const headers = { 'content-type': 'text/csv' };
    const bulk = await renamed.server.call('owner', 'POST', '/datapoints', {
      text: `device_id,sensor_id,timestamp,value\n${csv}\n`,
      headers,
    });
    assert.deepEqual(bulk.body, { accepted: 2, refused: [] });
    assert.deepEqual(await values(renamed.to), [0, 1]);
    for (const id of [renamed.from, renamed.to]) {
      const rows = (await make(renamed.server, { as: 'owner', call: `GET /sensors_data?device_id=${id}`, expect: 200 }))
        .body;
      assert.deepEqual(
        rows.map(({ device_id }: { device_id: string }) => device_id),
        [renamed.to, renamed.to],
      );
      const latest = (await make(renamed.server, { as: 'owner', call: `GET /latest?device_id=${id}`, expect: 200 }))
        .body;
      assert.deepEqual(
        latest.map(({ device_id }: { device_id: string }) => device_id),
        [renamed.to],
      );
    }
  });
});

suite('a rename that is refused, or that concerns others', () => {
  const shareWith = (id: string, scopes: string[]) =>
    make(renamed.server, { as: 'owner', call: `PUT /devices/${id}/shares/sharer`, json: { scopes }, expect: 204 });

  test('no device is renamed more than some times a day, and none more than its owner has follow', async () => {
    let id = renamed.from;
    for (let n = 0; n < limits.renamesPerDeviceMax; n++) {
      const into = id === renamed.from ? renamed.to : renamed.from;
      await rename(204, { id, into });
      id = into;
    }
    const refused = await rename(429, { id, into: `${renamed.to}-more` });
    assert.ok(Number(refused.headers['retry-after']) > 3600);
    assert.deepEqual(await former(id), [renamed.from === id ? renamed.to : renamed.from], 'nothing has changed');
    renamed.server.clock.advance(dayMs);
    await rename(204, { id, into: `${renamed.to}-more` });
  });

  test('one user who renames many devices at once keeps nobody else from it', async () => {
    const many = Array.from({ length: 6 }, (_, n) => `${renamed.from}-at-once-${n}`);
    for (const id of many) await addDevice(id);
    const theirs = `${renamed.from}-theirs`;
    await addDevice(theirs, { as: 'stranger' });
    const put = (as: As, id: string) => renamed.server.call(as, 'PUT', `/devices/${id}/id`, { text: `${id}-new` });
    const [other, ...own] = (
      await Promise.all([...many.map((id) => put('owner', id)), put('stranger', theirs)])
    ).reverse();
    assert.equal(other?.status, 204);
    for (const { status } of own) assert.ok([204, 503].includes(status), String(status));
    assert.ok(own.some(({ status }) => status === 204));
  });

  test('more of the owner’s than may follow in one commit refuses it; what strangers have does not', async () => {
    const project = (as: As, n: number) =>
      make(renamed.server, {
        as,
        call: 'POST /projects',
        json: { name: `p${n}`, device_ids: [renamed.from], gateway_ids: [] },
        expect: 200,
      });
    const count = limits.renameFollowersMax + 1;
    for (let n = 0; n < count; n++) await project('stranger', n);
    const own = [];
    for (let n = 0; n < count; n++) own.push((await project('owner', n)).text);
    const refused = await rename(422);
    assert.match(refused.body.detail, /too many to follow/);
    await push(renamed.from, 1);
    await make(renamed.server, { as: 'owner', call: `DELETE /projects/${own[0]}`, expect: 204 });
    await rename(204);
    for (const each of own.slice(1, 4)) {
      const { body } = await make(renamed.server, { as: 'owner', call: `GET /projects/${each}`, expect: 200 });
      assert.deepEqual(body.device_ids, [renamed.to]);
    }
    await assertSound(renamed.server);
  });

  test('a sharer’s key and rule go on with the id that they name, and the key does not reach more', async () => {
    await shareWith(renamed.from, ['device:view', 'device-data:view', 'device-data:create']);
    const { body: key } = await renamed.server.call('sharer', 'POST', '/auth/keys', {
      json: { name: 'k', devices: [renamed.from] },
    });
    const headers = { authorization: `Bearer ${key.key}` };
    const rule = (
      await make(renamed.server, {
        as: 'sharer',
        call: 'POST /notifications',
        json: {
          condition: { devices: [renamed.from], sensors: ['s'], expression: 's>0' },
          action: { usernames: ['sharer'], channels: ['none'], message: '{s}' },
          hysteresis: 's<0',
        },
        expect: 200,
      })
    ).text;
    const sent = async () => {
      await renamed.server.running.idle();
      return (await renamed.server.call('sharer', 'GET', `/notifications/${rule}`)).body.times_sent;
    };
    await push(renamed.from, 1);
    assert.equal(await sent(), 1);
    await rename(204);
    await push(renamed.to, 2);
    assert.equal(await sent(), 1, 'what it remembers is kept');
    for (const value of [-1, 3]) await push(renamed.to, value);
    assert.equal(await sent(), 2);
    await renamed.server.restart();
    for (const value of [4, -1, 5]) await push(renamed.from, value);
    assert.equal(await sent(), 3);
    for (const id of [renamed.from, renamed.to])
      await make(renamed.server, { call: `GET /devices/${id}/sensors/s/values`, headers, expect: 200 });
    const listed = await make(renamed.server, { call: 'GET /devices', headers, expect: 200 });
    assert.deepEqual(
      listed.body.map(({ id }: { id: string }) => id),
      [renamed.to],
    );
    // Whoever takes the former id has nothing of the old.
    await make(renamed.server, {
      as: 'owner',
      call: `DELETE /devices/${renamed.to}/former_ids/${renamed.from}`,
      expect: 204,
    });
    await addDevice(renamed.from);
    await make(renamed.server, { call: `GET /devices/${renamed.to}/sensors/s/values`, headers, expect: 403 });
    await push(renamed.to, -1);
    await push(renamed.to, 6);
    assert.equal(await sent(), 3, 'the rule watches the device that has its id');
  });

  test('what a sharer’s rule remembers since the rename counts after the device went back to its former id', async () => {
    await shareWith(renamed.from, ['device:view', 'device-data:view']);
    const condition = { devices: [renamed.from], sensors: ['s'], expression: 's>0' };
    const action = { usernames: ['sharer'], channels: ['none'], message: '{s}' };
    const json = { condition, action, hysteresis: 's<0' };
    const rule = (await make(renamed.server, { as: 'sharer', call: 'POST /notifications', json, expect: 200 })).text;
    const sent = async () => {
      await renamed.server.running.idle();
      return (await renamed.server.call('sharer', 'GET', `/notifications/${rule}`)).body.times_sent;
    };
    await push(renamed.from, 1);
    assert.equal(await sent(), 1);
    await rename(204);
    await push(renamed.to, -1);
    assert.equal(await sent(), 1);
    await rename(204, { id: renamed.to, into: renamed.from });
    await push(renamed.from, 2);
    assert.equal(await sent(), 2, 'it was armed again');
    await rename(204);
    await renamed.server.restart();
    await push(renamed.from, 3);
    assert.equal(await sent(), 2);
  });

  test('the old owner’s keys lose a device that is handed over, by the former id too', async () => {
    const key = async () =>
      (await renamed.server.call('owner', 'POST', '/auth/keys', { json: { name: 'k', devices: [renamed.from] } })).body;
    const before = await key();
    await rename(204);
    const after = await key();
    await make(renamed.server, {
      as: 'owner',
      call: `PUT /devices/${renamed.to}/owner`,
      text: 'stranger',
      expect: 204,
    });
    const keys = (await make(renamed.server, { as: 'owner', call: 'GET /auth/keys', expect: 200 })).body;
    for (const { id } of [before, after])
      assert.deepEqual(keys.find((each: { id: string }) => each.id === id).devices, []);
    await push(renamed.from, 1, 403);
    await rename(403, { id: renamed.from, into: `${renamed.to}-2` });
    await rename(204, { as: 'stranger', id: renamed.from, into: `${renamed.to}-2` });
  });

  test('a clock that is ahead frees no former id', async () => {
    await rename(204);
    await push(renamed.from, 1);
    renamed.server.jump(2 * yearMs);
    await renamed.server.running.idle();
    await make(renamed.server, { as: 'stranger', call: 'POST /devices', json: { id: renamed.from }, expect: 422 });
    await push(renamed.from, 2);
    renamed.server.jump(-2 * yearMs);
    await renamed.server.running.idle();
    await push(renamed.from, 3);
  });
});
