// Another id for a device (decision 42): the one before answers for a year, and nobody else gets it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import type { As } from '../../support/people.ts';
import { renamedDevices, yearMs } from '../../support/renamed-devices.ts';
import { assertSound } from '../../support/sound-store.ts';

const renamed = renamedDevices();
const { addDevice, rename, push, values, former } = renamed;
const dayMs = 24 * 3_600_000;

suite('a device that has another id', () => {
  test('is read, pushed to and set under both, shows the new one, and has all its datapoints; after a restart too', async () => {
    await push(renamed.from, 1);
    const answer = await rename(204);
    assert.equal(answer.headers['location'], `/api/v2/devices/${renamed.to}`);
    let n = 1;
    const held = async () => {
      for (const id of [renamed.from, renamed.to]) {
        n += 1;
        await push(id, n);
        const { body } = await make(renamed.server, { as: 'owner', call: `GET /devices/${id}`, expect: 200 });
        assert.equal(body.id, renamed.to);
        assert.equal(body.sensors[0].last_value.value, n);
        assert.deepEqual((await values(id)).at(-1), n);
        const text = String(n);
        await make(renamed.server, { as: 'owner', call: `PUT /devices/${id}/actuators/a/value`, json: n, expect: 204 });
        const set = await make(renamed.server, {
          as: 'owner',
          call: `GET /devices/${id}/actuators/a/value`,
          expect: 200,
        });
        assert.ok(set.text.includes(text));
        await make(renamed.server, { as: 'owner', call: `PUT /devices/${id}/name`, text: `name ${n}`, expect: 204 });
        const other = id === renamed.from ? renamed.to : renamed.from;
        const named = (await make(renamed.server, { as: 'owner', call: `GET /devices/${other}`, expect: 200 })).body;
        assert.equal(named.name, `name ${n}`);
        // Versions 1 and 1.1 call devices sensors.
        const older = await make(renamed.server, {
          as: 'owner',
          call: `GET /sensors/${id}`,
          version: 'v1',
          expect: 200,
        });
        assert.equal(older.body.id, renamed.to);
        const call = `POST /sensors/${id}/measurements/s/values`;
        await make(renamed.server, { as: 'owner', call, version: 'v1', json: { value: n + 0.5 }, expect: 200 });
        assert.equal((await values(renamed.to)).at(-1), n + 0.5);
      }
      assert.equal((await values(renamed.from)).length, (await values(renamed.to)).length);
    };
    await held();
    await renamed.server.restart();
    await held();
    await assertSound(renamed.server);
  });

  test('is told so by answers to the former id alone, with its address for who may view it', async () => {
    await push(renamed.from, 1);
    await rename(204);
    await make(renamed.server, {
      as: 'owner',
      call: `PUT /devices/${renamed.to}/shares/sharer`,
      json: { scopes: ['device-data:create'] },
      expect: 204,
    });
    const { headers } = await make(renamed.server, {
      as: 'owner',
      call: `GET /devices/${renamed.from}/sensors/s/values?limit=1`,
      expect: 200,
    });
    assert.match(String(headers['deprecation']), /^@\d{10}$/);
    assert.equal(
      Date.parse(String(headers['sunset'])),
      Math.floor((renamed.server.clock.now() + yearMs) / 1000) * 1000,
    );
    assert.equal(headers['link'], `</api/v2/devices/${renamed.to}/sensors/s/values>; rel="successor-version"`);
    const present = await make(renamed.server, { as: 'owner', call: `GET /devices/${renamed.to}`, expect: 200 });
    assert.equal(present.headers['sunset'], undefined);
    const older = await make(renamed.server, {
      as: 'owner',
      call: `GET /domains/x/sensors/${renamed.from}`,
      version: 'v1',
      expect: 200,
    });
    assert.equal(older.headers['link'], `</api/v1/domains/x/sensors/${renamed.to}>; rel="successor-version"`);
    const pushed = await make(renamed.server, {
      as: 'sharer',
      call: `POST /devices/${renamed.from}/sensors/s/values`,
      json: [{ value: 3 }],
      expect: 204,
    });
    assert.match(String(pushed.headers['sunset']), /GMT$/);
    assert.equal(pushed.headers['link'], undefined, 'the new id is not for who may not view it');
    const unknown = await make(renamed.server, {
      as: 'sharer',
      call: `POST /devices/${renamed.from}/sensors/none/values`,
      json: { value: 3 },
      expect: 404,
    });
    assert.ok(!unknown.text.includes(renamed.to), unknown.text);
  });

  test('answers by the former id for a year; then anybody may have it', async () => {
    await rename(204);
    renamed.server.clock.advance(yearMs - 1000);
    await renamed.server.running.idle();
    await push(renamed.from, 1);
    await make(renamed.server, { as: 'stranger', call: 'POST /devices', json: { id: renamed.from }, expect: 422 });
    renamed.server.clock.advance(1000);
    await push(renamed.from, 2, 404);
    await make(renamed.server, { as: 'owner', call: `GET /devices/${renamed.from}`, expect: 404 });
    assert.deepEqual(await former(renamed.to), []);
    await make(renamed.server, {
      as: 'stranger',
      call: 'POST /devices',
      json: { id: renamed.from, sensors: [{ id: 's' }] },
      expect: 204,
    });
    await push(renamed.from, 3, 403);
    await push(renamed.from, 4, 204, 'stranger');
    assert.deepEqual(await values(renamed.to), [1]);
    await renamed.server.restart();
    assert.deepEqual(await values(renamed.to), [1]);
    await make(renamed.server, { as: 'owner', call: `GET /devices/${renamed.from}`, expect: 403 });
    await assertSound(renamed.server);
  });

  test('keeps its id for itself: nobody takes it by creating or renaming, and its owner goes back to it', async () => {
    const other = `other-${renamed.count}`;
    await addDevice(other);
    await rename(204);
    for (const as of ['guest', 'stranger', 'owner', 'admin'] as const)
      await make(renamed.server, { as, call: 'POST /devices', json: { id: renamed.from }, expect: 422 });
    await rename(422, { id: other, into: renamed.from });
    await rename(422, { id: other, into: renamed.to });
    await make(renamed.server, {
      as: 'owner',
      call: 'POST /sensors',
      version: 'v1',
      json: { id: renamed.from },
      expect: 422,
    });
    await rename(204, { id: renamed.from, into: renamed.from });
    assert.deepEqual(await former(renamed.from), [renamed.to]);
    for (const id of [renamed.from, renamed.to]) await push(id, 1);
    assert.equal(
      (await make(renamed.server, { as: 'owner', call: `GET /devices/${renamed.to}`, expect: 200 })).body.id,
      renamed.from,
    );
    await assertSound(renamed.server);
  });

  test('answers directly by each id of a chain; so many at once, and no more until one is ended', async () => {
    let id = renamed.from;
    for (let n = 1; n <= limits.formerIdsMax; n++) {
      // A request under an earlier id remembers where it leads.
      await push(renamed.from, n);
      await rename(204, { id, into: `${renamed.to}-${n}` });
      id = `${renamed.to}-${n}`;
    }
    renamed.server.clock.advance(dayMs);
    const former1 = await former(id);
    assert.equal(former1.length, limits.formerIdsMax);
    assert.equal(former1.at(-1), renamed.from);
    for (const each of former1) {
      const { body, headers } = await make(renamed.server, { as: 'owner', call: `GET /devices/${each}`, expect: 200 });
      assert.equal(body.id, id);
      assert.ok(String(headers['link']).includes(`/${id}>`));
    }
    const refused = await rename(422, { id, into: `${renamed.to}-beyond` });
    assert.match(refused.body.detail, /former ids/);
    await rename(204, { id, into: `${renamed.to}-1` });
    await rename(204, { id: `${renamed.to}-1`, into: id });
    await make(renamed.server, { as: 'owner', call: `DELETE /devices/${id}/former_ids/${renamed.from}`, expect: 204 });
    await make(renamed.server, { as: 'owner', call: `DELETE /devices/${id}/former_ids/${renamed.from}`, expect: 404 });
    await push(renamed.from, 1, 404);
    renamed.server.clock.advance(dayMs);
    await rename(204, { id, into: `${renamed.to}-beyond` });
    await make(renamed.server, {
      as: 'stranger',
      call: 'POST /devices',
      json: { id: renamed.from, sensors: [{ id: 's' }] },
      expect: 204,
    });
    await push(renamed.from, 2, 403);
    assert.equal((await values(`${renamed.to}-1`)).length, limits.formerIdsMax);
    await assertSound(renamed.server);
  });

  test('frees its ids when it is deleted, by whichever of them', async () => {
    await push(renamed.from, 1);
    await rename(204);
    await make(renamed.server, { as: 'owner', call: `DELETE /devices/${renamed.from}`, expect: 204 });
    for (const id of [renamed.from, renamed.to]) {
      await push(id, 1, 404);
      await addDevice(id, { as: 'stranger' });
      await push(id, 1, 403);
      assert.deepEqual(
        (await make(renamed.server, { as: 'stranger', call: `GET /devices/${id}/former_ids`, expect: 200 })).body,
        [],
      );
    }
    await assertSound(renamed.server);
  });
});

suite('who may', () => {
  test('the owner and admins, without an API key', async () => {
    const shared = ['device:view', 'device:update', 'device:delete', 'device-data:view', 'device-data:create'];
    await make(renamed.server, {
      as: 'owner',
      call: `PUT /devices/${renamed.from}/shares/sharer`,
      json: { scopes: shared },
      expect: 204,
    });
    for (const as of ['guest', 'stranger', 'sharer'] as const) await rename(403, { as });
    const { body: key } = await renamed.server.call('owner', 'POST', '/auth/keys', { json: { name: 'k' } });
    const headers = { authorization: `Bearer ${key.key}` };
    await make(renamed.server, { call: `PUT /devices/${renamed.from}/id`, text: renamed.to, headers, expect: 403 });
    await make(renamed.server, { call: `GET /devices/${renamed.from}/former_ids`, headers, expect: 403 });
    await rename(204);
    for (const as of ['guest', 'stranger', 'sharer'] as const)
      for (const id of [renamed.from, renamed.to])
        await makeAll(renamed.server, [
          { as, call: `PUT /devices/${id}/id`, text: `x-${renamed.to}`, expect: 403 },
          { as, call: `GET /devices/${id}/former_ids`, expect: 403 },
          { as, call: `DELETE /devices/${id}/former_ids/${renamed.from}`, expect: 403 },
        ]);
    await rename(204, { as: 'admin', id: renamed.to, into: `${renamed.to}-admin` });
    assert.deepEqual(await former(renamed.from, 'admin'), [renamed.to, renamed.from]);
    await make(renamed.server, {
      as: 'admin',
      call: `DELETE /devices/${renamed.to}/former_ids/${renamed.to}`,
      expect: 204,
    });
  });

  test('what is no id, no device, or not version 2', async () => {
    await makeAll(renamed.server, [
      { as: 'owner', call: `PUT /devices/${renamed.from}/id`, text: 'no id', expect: 400 },
      { as: 'owner', call: `PUT /devices/${renamed.from}/id`, text: '', expect: 400 },
      { as: 'owner', call: `PUT /devices/${renamed.from}/id`, json: 'x'.repeat(257), expect: 400 },
      { as: 'owner', call: 'PUT /devices/no-such-device/id', text: renamed.to, expect: 404 },
      { as: 'owner', call: `PUT /sensors/${renamed.from}/id`, text: renamed.to, version: 'v1', expect: 404 },
      { as: 'owner', call: `PUT /devices/${renamed.from}/id`, json: renamed.from, expect: 204 },
    ]);
    assert.deepEqual(await former(renamed.from), [], 'its own id is no change');
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
        for (const id of [renamed.from, renamed.to])
          answers.push(
            await make(renamed.server, { as, call: `${method} /devices/${id}${path}`, ...carries, expect: 403 }),
          );
        const [old, present] = answers.map(({ text, headers }) => [
          text.replaceAll(renamed.from, '…').replaceAll(renamed.to, '…'),
          headers['sunset'],
          headers['link'],
        ]);
        assert.deepEqual(old, present);
        assert.ok(!answers[0]?.text.includes(renamed.to), 'the new id is not told');
      }
  });
});

test('who may not view a device asks for rights on it by a former id, and is not told the new one', async () => {
  const json = { scopes: ['device-data:create'] };
  await make(renamed.server, { as: 'owner', call: `PUT /devices/${renamed.from}/shares/sharer`, json, expect: 204 });
  await rename(204);
  const explain = (as: As, id: string, expect = 200) =>
    make(renamed.server, { as, call: `GET /devices/${id}/permissions/explain`, expect });
  for (const as of ['guest', 'stranger', 'sharer'] as const) {
    const { body, text, headers } = await explain(as, renamed.from);
    assert.equal(body.device, renamed.from);
    assert.ok(!`${text}${JSON.stringify(headers)}`.includes(renamed.to), 'nowhere');
    const call = `GET /devices/${renamed.from}/permissions/explain?username=owner`;
    assert.ok(!(await make(renamed.server, { as, call, expect: 403 })).text.includes(renamed.to));
  }
  for (const as of ['owner', 'admin'] as const) assert.equal((await explain(as, renamed.from)).body.device, renamed.to);
});

test('pushes that are under way while ids change are all stored, each once', async () => {
  const writing = Promise.all(
    Array.from({ length: 200 }, async (_, n) => {
      await renamed.server
        .call('owner', 'POST', `/devices/${renamed.from}/sensors/s/values`, { json: { value: n } })
        .then(({ status }) => assert.equal(status, 204));
    }),
  );
  let id = renamed.from;
  for (const into of [renamed.to, `${renamed.to}-2`, renamed.to, renamed.from, renamed.to]) {
    const { status } = await renamed.server.call('owner', 'PUT', `/devices/${id}/id`, { text: into });
    assert.equal(status, 204);
    id = into;
  }
  await writing;
  const { body } = await renamed.server.call('owner', 'GET', `/devices/${renamed.from}/sensors/s/values?limit=1000`);
  assert.deepEqual(
    body.map(({ value }: { value: number }) => value).sort((a: number, b: number) => a - b),
    Array.from({ length: 200 }, (_, n) => n),
  );
});

test('a device that gets another id while its sensor or itself is removed is either, and nothing acknowledged is lost', async () => {
  for (const [n, removed] of ['/sensors/s', ''].entries()) {
    const [id, into] = [`${renamed.from}-${n}`, `${renamed.to}-${n}`];
    await addDevice(id);
    const pushed = (by: string) =>
      renamed.server.call('owner', 'POST', `/devices/${by}/sensors/s/values`, { json: { value: 1 } });
    const answers = await Promise.all([
      ...[id, into].flatMap((by) => Array.from({ length: 20 }, () => pushed(by))),
      renamed.server.call('owner', 'PUT', `/devices/${id}/id`, { text: into }),
      renamed.server.call('owner', 'DELETE', `/devices/${id}${removed}`),
      ...[id, into].flatMap((by) => Array.from({ length: 20 }, () => pushed(by))),
    ]);
    for (const { status } of answers) assert.ok([204, 404, 503].includes(status), String(status));
    const gone = await renamed.server.call('owner', 'DELETE', `/devices/${into}${removed}`);
    const again = await renamed.server.call('owner', 'DELETE', `/devices/${id}${removed}`);
    // Nothing is left locked: what was answered 503 is done by another attempt.
    assert.ok([204, 404].includes(gone.status) && [204, 404].includes(again.status));
    assert.equal((await pushed(id)).status, 404);
    assert.equal((await pushed(into)).status, 404);
  }
  await assertSound(renamed.server);
});
