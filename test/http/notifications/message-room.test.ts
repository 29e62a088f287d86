// What messages take on the disk is bounded in bytes for each author, because they are charged to nobody's quota.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make } from '../../support/api/calls.ts';
import { runSql } from '../../support/data.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

const usernames = Array.from({ length: 1000 }, (_, n) => `u${n}`);
const bytesOf = async (author: string) => {
  const sql = `SELECT sum(octet_length(text)) AS bytes FROM message
    WHERE author = (SELECT key FROM "user" WHERE username = '${author}')`;
  return Number((await runSql(server.folder, sql))[0]?.['bytes']);
};

test('long messages take a bounded room: the oldest go, and those of others stay', async () => {
  await make(server, {
    as: 'owner',
    call: 'POST /socials',
    json: { username: 'x', channel: 'none', message: 'mine' },
    expect: 200,
  });
  const json = { usernames, channels: ['none', 'email'], message: '語'.repeat(1300) };
  for (let n = 0; n < 4; n++) await make(server, { as: 'guest', call: 'POST /socials/batch', json, expect: 200 });
  const bytes = await bytesOf('guest');
  assert.ok(bytes <= limits.messagesBytesPerUserMax, `${bytes} bytes`);
  const newest = await server.call('guest', 'GET', '/socials?limit=1');
  assert.equal(newest.body.length, 1);
  assert.equal(await bytesOf('owner'), 4);
});

test('a firing that would send more text than one may records that, and sends nothing', async () => {
  await make(server, { as: 'owner', call: 'POST /devices', json: { id: 'd', sensors: [{ id: 's' }] }, expect: 204 });
  const rule = {
    condition: { devices: ['d'], sensors: ['s'], expression: 's>1' },
    action: { usernames, channels: ['none'], message: 'x'.repeat(4000) },
  };
  const { text: id } = await make(server, { as: 'owner', call: 'POST /notifications', json: rule, expect: 200 });
  const push = { as: 'owner', call: 'POST /devices/d/sensors/s/values', json: { value: 2 }, expect: 204 } as const;
  await make(server, push);
  await server.running.idle();
  const { body } = await server.call('owner', 'GET', `/socials?q=notification==${id}`);
  assert.deepEqual(
    body.map(({ status, reason }: { status: string; reason: string }) => `${status}: ${reason}`),
    ['failed: more text than one firing may send; 1000 were not made'],
  );
});
