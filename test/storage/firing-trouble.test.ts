// A disk that refuses writes for a while loses and repeats no firing, and the service is not idle before all are
// stored.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make } from '../support/api/calls.ts';
import { openDatabase } from '../support/database.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 'T' }] } });
});
after(() => server.stop());

for (const [what, trigger] of [
  ['a firing', 'BEFORE INSERT ON message'],
  ['what came of a message', "BEFORE UPDATE ON message WHEN new.state = 'failed'"],
]) {
  test(`the service is idle only once ${what} that could not be written has been`, async () => {
    const action = { usernames: ['nobody'], channels: ['email'], message: '{T}' };
    const condition = { devices: ['d'], sensors: ['T'], expression: 'T>1' };
    const json = { condition, action };
    const id = (await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 })).text;
    await server.running.idle();
    const database = openDatabase(server.folder);
    database.exec(`CREATE TRIGGER refusal ${trigger} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
    await server.call('owner', 'POST', '/devices/d/sensors/T/values', { json: { value: 5 } });
    let isIdle = false;
    const idle = server.running.idle().then(() => {
      isIdle = true;
    });
    await until(() => server.errors.length > 0 || isIdle);
    assert.equal(isIdle, false);
    database.exec('DROP TRIGGER refusal');
    database.close();
    await idle;
    assert.ok(server.errors.splice(0).every((line) => line.includes('refused')));
    const rule = (await server.call('owner', 'GET', `/notifications/${id}`)).body;
    assert.equal(rule.times_sent, 1);
    const messages = (await server.call('owner', 'GET', `/socials?q=notification==${id}`)).body;
    assert.deepEqual(
      messages.map(({ message, status, reason }: Record<string, string>) => ({ message, status, reason })),
      [{ message: '5', status: 'failed', reason: 'no such user' }],
    );
    await server.call('owner', 'DELETE', `/notifications/${id}`);
  });
}

test('a rule fires although neither its firing could be written nor the rules be read for a while', async () => {
  const action = { usernames: ['nobody'], channels: ['email'], message: '{T}' };
  const condition = { devices: ['d'], sensors: ['T'], expression: 'T>1' };
  const json = { condition, action };
  const id = (await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 })).text;
  await server.running.idle();
  const database = openDatabase(server.folder);
  database.exec('PRAGMA legacy_alter_table = ON; ALTER TABLE notification RENAME TO notification_away');
  const push = (value: number) => server.call('owner', 'POST', '/devices/d/sensors/T/values', { json: { value } });
  await push(5);
  await until(() => server.errors.some((line) => line.includes('rules of notifications could not be read')));
  // While they are not there, nobody knows whether a rule concerns it.
  await push(6);
  database.exec('ALTER TABLE notification_away RENAME TO notification');
  database.close();
  await server.running.idle();
  server.errors.splice(0);
  assert.equal((await server.call('owner', 'GET', `/notifications/${id}`)).body.times_sent, 2);
  const { body } = await server.call('owner', 'GET', `/socials?q=notification==${id}`);
  assert.deepEqual(body.map(({ message }: { message: string }) => message).sort(), ['5', '6']);
});
