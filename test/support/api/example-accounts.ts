// Creates the account, the API key, the session, the MQTT client and the alarm that the examples of the OpenAPI document name, before
// each example that needs them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { limits } from '../../../src/config/limits.ts';
import { runSql } from '../data.ts';
import { Client } from '../mqtt/mqtt-client.ts';
import { password } from '../people.ts';
import type { TestServer } from '../test-server.ts';
import type { Operation } from './documented-answers.ts';

/** Makes them, and notes under which ids; the headers that the call needs beside what the example says. */
export async function prepareAccounts(
  server: TestServer,
  operation: Operation,
  assigned: Map<string, string>,
): Promise<Readonly<Record<string, string>>> {
  assigned.set('user', await makeAwa(server, operation));
  if (operation.operationId === 'deleteKey') {
    const { body } = await server.call('admin', 'POST', '/auth/keys', { json: { name: 'example' } });
    assigned.set('key', body.id);
  }
  if (operation.operationId === 'deleteUserKey') {
    const { body } = await server.call('awa', 'POST', '/auth/keys', { json: { name: 'example' } });
    assigned.set('key', body.id);
  }
  if (operation.operationId === 'deleteUserSession') {
    await server.call('guest', 'POST', '/auth/session', { json: { username: 'awa', password } });
    const { body } = await server.call('awa', 'GET', `/users/${assigned.get('user')}/sessions`);
    assigned.set('session', body[0].id);
  }
  if (operation.operationId === 'keepReceived' || operation.operationId === 'giveBackReceived') {
    await handOverExample(server);
  }
  // The client of the examples takes over from itself; the end of the server is its own.
  if (operation.tags.includes('MQTT')) await Client.connect(server, 'admin', { clientId: 'gateway-1' });
  if (operation.tags.includes('Alarms')) assigned.set('alarm', await raiseAlarm(server));
  await prepareLinks(server, operation, assigned.get('user') ?? '');
  if (operation.operationId === 'removeOwnUser') {
    const { text } = await server.call('guest', 'POST', '/auth/token', { json: { username: 'awa', password } });
    return { authorization: `Bearer ${text}` };
  }
  if (operation.operationId !== 'renewSession') return {};
  const json = { username: 'admin', password };
  const { headers } = await server.call('guest', 'POST', '/auth/session', { json });
  return { cookie: String(headers['set-cookie']).split(';')[0] as string };
}

/** The user of the examples, as new where an example is about accounts. */
async function makeAwa(server: TestServer, { operationId, tags }: Operation): Promise<string> {
  const { body } = await server.call('admin', 'GET', '/users?username=awa');
  const id: string | undefined = body[0]?.id;
  if (id !== undefined && !tags.some((tag) => /\bUsers$/.test(tag))) return id;
  if (id !== undefined) {
    assert.equal((await server.call('admin', 'DELETE', `/users/${id}?devices=delete`)).status, 204);
  }
  if (/^(createUser|v1CreateUser)$/.test(operationId)) return '';
  const { status, text } = await server.call('admin', 'POST', '/users', { json: { username: 'awa', password } });
  assert.equal(status, 200, text);
  return text;
}

/** The secret of the examples of mailed links: 32 bytes that are 0. */
const linkSecret = 'A'.repeat(43);

/** Gives awa an address, and a link whose secret is that of the example. */
async function prepareLinks(server: TestServer, { operationId }: Operation, id: string): Promise<void> {
  const purpose = { setPasswordByLink: 'reset', confirmEmail: 'confirm' }[operationId];
  if (/requestEmailConfirmation$/i.test(operationId) || purpose !== undefined)
    await server.call('admin', 'PUT', `/users/${id}/email`, { text: 'awa@dundun.example' });
  if (purpose === undefined) return;
  await server.running.idle();
  const hash = createHash('sha256').update(linkSecret).digest('base64');
  const { clock, folder } = server;
  await runSql(folder, `UPDATE "user" SET email_confirmed = 'awa@dundun.example' WHERE id = '${id}'`);
  await runSql(
    folder,
    `INSERT INTO account_link (hash, "user", purpose, email, date_created, expires)
      SELECT '${hash}', key, '${purpose}', 'awa@dundun.example', ${clock.now()}, ${clock.now() + limits.accountLinkMs}
      FROM "user" WHERE id = '${id}'`,
  );
}

/** Makes the device of the examples one that admin was handed by awa. */
async function handOverExample(server: TestServer): Promise<void> {
  for (const [from, to] of [
    ['admin', 'awa'],
    ['awa', 'admin'],
  ] as const) {
    const { status, text } = await server.call(from, 'PUT', '/devices/field-3/owner', { text: to });
    assert.equal(status, 204, text);
  }
}

/** Makes a condition hold on the device of the examples, which awa may see; the id of the alarm. */
async function raiseAlarm(server: TestServer): Promise<string> {
  const scopes = ['devices:view', 'device-data:view'];
  const condition = { devices: ['field-3'], sensors: ['TC'], expression: 'TC>40' };
  const action = { usernames: ['admin'], channels: ['none'], message: 'Hot' };
  for (const [method, path, json] of [
    ['PUT', '/devices/field-3/shares/awa', { scopes }],
    ['POST', '/notifications', { condition, action }],
    ['POST', '/devices/field-3/sensors/TC/values', { value: 41.5 }],
  ] as const) {
    const { status, text } = await server.call('admin', method, path, { json });
    assert.ok(status === 200 || status === 204, text);
  }
  await server.running.idle();
  return (await server.call('admin', 'GET', '/devices/field-3/alarms')).body[0].id;
}
