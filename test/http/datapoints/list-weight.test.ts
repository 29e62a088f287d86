// Lists of records with long texts are read and sent in steps, and never fail because of their size.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { action, addRule, condition } from '../../support/api/example-rule.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  const meta = { text: 'x'.repeat(15_000) };
  const sensors = Array.from({ length: 14 }, (_, n) => ({ id: `s${n}`, meta }));
  for (let n = 0; n < 45; n++) {
    assert.equal((await server.call('owner', 'POST', '/devices', { json: { id: `d${n}`, sensors } })).status, 204);
  }
});
after(() => server.stop());

test('a page of ten megabytes of descriptions comes whole, by either version', async () => {
  const { body } = await make(server, { as: 'owner', call: 'GET /devices?limit=1000', expect: 200 });
  assert.equal(body.length, 45);
  assert.equal(body.at(-1).sensors.at(-1).meta.text.length, 15_000);
  const older = await make(server, { as: 'owner', version: 'v1', call: 'GET /sensors?limit=1000', expect: 200 });
  assert.equal(older.body.length, 45);
  assert.equal(older.body.at(-1).measurements.length, 14);
  const page = await make(server, { as: 'owner', call: 'GET /devices?limit=20&offset=20', expect: 200 });
  assert.equal(page.body.length, 20);
});

test('a page of six megabytes of notifications comes whole and in order, by either version', async () => {
  const devices = Array.from({ length: 110 }, (_, n) => `${n}-${'d'.repeat(250)}`);
  const ids: string[] = [];
  for (let n = 0; n < 210; n++) {
    ids.push(await addRule(server, 'owner', { condition: { ...condition, devices }, action, description: `${n}` }));
  }
  for (const version of ['v2', 'v1'] as const) {
    const { body } = await make(server, { as: 'owner', version, call: 'GET /notifications?limit=1000', expect: 200 });
    assert.deepEqual(
      body.map((rule: { readonly id: string }) => rule.id),
      ids,
    );
    assert.equal(body.at(-1).condition[version === 'v2' ? 'devices' : 'sensors'].length, 110);
  }
  const page = await make(server, { as: 'owner', call: 'GET /notifications?limit=70&offset=60', expect: 200 });
  assert.deepEqual([page.body.length, page.body[0].id, page.body.at(-1).id], [70, ids[60], ids[129]]);
});
