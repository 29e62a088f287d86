// Handovers are no way around a quota, neither one's own nor another's: what is handed over counts for a while for who
// gave it, and takes at most half of what the receiver has left.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../../support/api/calls.ts';
import { addUsers } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start({
    DUNDUN_QUOTAS: 'devices=8,sensors=20,gateways=8,description_bytes=100000B',
    DUNDUN_GUEST_QUOTAS: 'devices=4,sensors=6,gateways=4,description_bytes=4000B',
  });
  await addUsers(server.folder, ['giver', 'heir', 'victim', 'chooser', 'keeper', 'ally'], server.clock);
});
after(() => server.stop());

const dayMs = 24 * 3_600_000;
let made = 0;

const quotaOf = async (who: string) => (await make(server, { as: who, call: 'GET /users/me/quota', expect: 200 })).body;

async function create(as: string, record: object = {}, path = 'devices'): Promise<string> {
  const id = `h${made++}`;
  await make(server, { as, call: `POST /${path}`, json: { id, ...record }, expect: path === 'devices' ? 204 : 200 });
  return id;
}

const give = (as: string, id: string, to: string, expect: number, path = 'devices') =>
  make(server, { as, call: `PUT /${path}/${id}/owner`, text: to, expect });

test('strangers together hand over no more than they may own, whoever it is for', async () => {
  for (const path of ['devices', 'gateways']) {
    for (let n = 0; n < 4; n++) await give('guest', await create('guest', {}, path), 'admin', 204, path);
    const answer = await give('guest', await create('guest', {}, path), 'admin', 403, path);
    assert.deepEqual(answer.body.quota, { kind: `handed_over_${path}`, used: 4, limit: 4 });
    assert.match(answer.body.detail, /30 days/);
  }
  server.clock.advance(31 * dayMs);
  await give('guest', await create('guest', { sensors: [{ id: 'a' }, { id: 'b' }] }), 'admin', 204);
  const describe = () => create('guest', { meta: { text: 'x'.repeat(1_400) } });
  for (let n = 0; n < 2; n++) await give('guest', await describe(), 'admin', 204);
  const answer = await give('guest', await describe(), 'admin', 403);
  assert.equal(answer.body.quota.kind, 'handed_over_description_bytes');
});

test('nobody fills up another: half of what is left stays for the receiver', async () => {
  for (const path of ['devices', 'gateways']) {
    const kind = path as 'devices' | 'gateways';
    for (let n = 0; n < 4; n++) await give('giver', await create('giver', {}, path), 'victim', 204, path);
    const answer = await give('giver', await create('giver', {}, path), 'victim', 403, path);
    assert.equal(answer.body.quota.kind, `received_${kind}`);
    assert.match(answer.body.detail, /has been handed/);
    // What the victim has of their own is not told.
    assert.equal(answer.body.quota.used, answer.body.quota.limit);
    for (let n = 0; n < 4; n++) await create('victim', {}, path);
    assert.equal((await quotaOf('victim'))[kind].used, 8);
  }
});

test('what is deleted, given back or kept counts no more, and what an admin hands over never does', async () => {
  const ids: string[] = [];
  for (let n = 0; n < 4; n++) {
    ids.push(await create('chooser'));
    await give('chooser', ids[n] as string, 'heir', 204);
  }
  const fifth = await create('chooser');
  await give('chooser', fifth, 'heir', 403);
  const [first, second, third] = ids as [string, string, string];
  await make(server, { as: 'heir', call: `DELETE /devices/${first}`, expect: 204 });
  await give('chooser', fifth, 'heir', 204);
  await make(server, { as: 'heir', call: `DELETE /users/me/received/${second}`, expect: 204 });
  await make(server, { as: 'heir', call: `PUT /users/me/received/${third}`, json: { shares: 'keep' }, expect: 204 });
  await give('chooser', second, 'heir', 204);
  for (let n = 0; n < 4; n++) await give('admin', await create('admin'), 'heir', 204);
  assert.equal((await quotaOf('heir')).devices.used, 8);
});

test('handed on, a device counts for who had it last', async () => {
  const device = await create('keeper');
  await give('keeper', device, 'ally', 204);
  for (let n = 0; n < 7; n++) await give('keeper', await create('keeper'), 'admin', 204);
  const ninth = await create('keeper');
  await give('keeper', ninth, 'admin', 403);
  await give('ally', device, 'admin', 204);
  await give('keeper', ninth, 'admin', 204);
});
