// Dry runs of a rule on stored values (POST /notifications/test): they report what the rule would have done, and
// change nothing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { make, makeAll } from '../../support/api/calls.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 'TC' }, { id: 'RH' }] } });
  await push('RH', [[0, 60]]);
  await push('TC', [
    [5, 3],
    [1, 50],
    [2, 10],
    [3, 11],
    [4, 50],
    [60, 12],
  ]);
});
after(() => server.stop());

const at = (minute: number) =>
  `2025-06-01T${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}:00Z`;

async function push(sensor: string, values: readonly (readonly [number, number])[]): Promise<void> {
  const json = values.map(([minute, value]) => ({ value, timestamp: at(minute) }));
  assert.equal((await server.call('owner', 'POST', `/devices/d/sensors/${sensor}/values`, { json })).status, 204);
}

const condition = { devices: ['d'], sensors: ['TC'], expression: 'TC<40;RH>50' };
const action = { usernames: ['owner'], channels: ['sms'], message: '{id} {TC} {RH}' };

async function dryRun(json: object) {
  return (await make(server, { as: 'owner', call: 'POST /notifications/test', json, expect: 200 })).body;
}

const told = (report: { firings: Record<string, string>[] }) =>
  report.firings.map(({ timestamp, kind, message }) => `${timestamp} ${kind} ${message}`);

test('tells what would have been sent, in order of time, and sends nothing', async () => {
  const report = await dryRun({ condition, action, throttling: 120, recovery_message: 'well {TC}' });
  assert.deepEqual(told(report), [
    `${at(2)} fires TC 10 60`,
    `${at(4)} recovers well 50`,
    `${at(5)} fires TC 3 60`,
    `${at(60)} fires TC 12 60`,
  ]);
  assert.deepEqual([report.datapoints, report.complete], [7, true]);
  assert.deepEqual((await server.call('owner', 'GET', '/socials')).body, []);
});

test('knows times: for and silence', async () => {
  assert.deepEqual(told(await dryRun({ condition, action, for: 60 })), [
    `${at(3)} fires TC 10 60`,
    `${at(3)} fires TC 11 60`,
    `${at(6)} fires TC 3 60`,
    `${at(60)} fires TC 12 60`,
  ]);
  const silence = { condition: { ...condition, expression: '' }, action, silence: 1200, date_to: at(90) };
  assert.deepEqual(told(await dryRun(silence)), [`${at(25)} fires TC 3 60`, `${at(80)} fires TC 12 60`]);
});

test('tries a rule that is there, as it is or otherwise, and an actuation', async () => {
  const json = { condition, action, status: 'inactive', expires: at(0) };
  const { text: id } = await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 });
  assert.equal((await dryRun({ id })).firings.length, 4);
  assert.equal((await dryRun({ id, date_from: at(3), date_to: at(5) })).firings.length, 0);
  const value = { device_id: 'd', actuator_id: 'valve', actuator_value: 'at {TC}' };
  const { firings } = await dryRun({ id, throttling: 36_000, action: { type: 'ActuationAction', value } });
  assert.deepEqual(
    firings.map(({ actuation }: { actuation: unknown }) => actuation),
    [{ ...value, actuator_value: 'at 10' }],
  );
  await makeAll(server, [
    { as: 'stranger', call: 'POST /notifications/test', json: { id }, expect: 403 },
    { as: 'admin', call: 'POST /notifications/test', json: { id }, expect: 200 },
  ]);
});

test('shows nobody what they may not see', async () => {
  await makeAll(server, [
    { as: 'stranger', call: 'POST /notifications/test', json: { condition, action }, expect: 403 },
    { as: 'guest', call: 'POST /notifications/test', json: { condition, action }, expect: 403 },
    {
      as: 'owner',
      call: 'POST /notifications/test',
      json: { condition: { ...condition, devices: ['no'] }, action },
      expect: 404,
    },
    {
      as: 'owner',
      call: 'POST /notifications/test',
      json: { condition: { ...condition, expression: 'TC<' }, action },
      expect: 400,
    },
    { as: 'owner', call: 'POST /notifications/test', json: { condition, action, date_from: 'soon' }, expect: 400 },
    { as: 'owner', call: 'POST /notifications/test', json: { id: 'x' }, expect: 400 },
  ]);
});
