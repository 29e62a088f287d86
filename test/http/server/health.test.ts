// Health, readiness, and metrics for Prometheus (contract 1); they need no token.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Sender } from '../../../src/domain/notifications/outbox/sender.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start({ DUNDUN_GUEST_ACCESS: 'none' });
});
after(() => server.stop());

test('it lives and is ready, by GET and HEAD', async () => {
  for (const path of ['/health/live', '/health/ready', '/health/ready/']) {
    const { status, body } = await server.request('guest', 'GET', path);
    assert.deepEqual([status, body], [200, { status: 'ok' }]);
    assert.equal((await server.request('guest', 'HEAD', path)).status, 200);
    assert.equal((await server.request('guest', 'POST', path)).status, 405);
  }
});

const figuresOf = async (of: TestServer) => {
  const { status, text, headers } = await of.request('admin', 'GET', '/metrics');
  assert.equal(status, 200);
  assert.match(headers['content-type'] ?? '', /^text\/plain; version=/);
  return Object.fromEntries(text.split('\n').map((line) => line.split(' ')));
};

test('figures are those of this server, beside those of its process', async () => {
  const another = await TestServer.start();
  await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
  await server.call('owner', 'POST', '/devices/d/sensors/s/values', { json: [{ value: 1 }, { value: 2 }] });
  const stored = 'dundun_datapoints_stored_total';
  const [own, others] = [await figuresOf(server), await figuresOf(another)];
  assert.deepEqual([own[stored], others[stored]], ['2', '0']);
  assert.equal(own['dundun_log_datapoints'], '2');
  for (const figures of [own, others]) assert.ok(Number(figures['process_cpu_seconds_total']) > 0);
  await another.stop();
  await server.restart();
  assert.equal((await figuresOf(server))[stored], '0');
});

test('figures tell what notifications did, and what became of their messages', async (t) => {
  const sms: Sender = { channel: 'sms', perSMax: 1, send: async () => ({ kind: 'sent' }) };
  const email: Sender = { channel: 'email', perSMax: 9, send: async () => ({ kind: 'failed', reason: 'no such box' }) };
  const senders = new Map([sms, email].map((one) => [one.channel, one]));
  const capped = await TestServer.start({ DUNDUN_PAID_MESSAGES_PER_DAY: '0' }, { senders });
  t.after(() => capped.stop());
  await capped.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
  const condition = { devices: ['d'], sensors: ['s'], expression: 's>1' };
  const action = { usernames: ['owner', 'nobody'], channels: ['none', 'sms', 'email'], message: '{s}' };
  await capped.call('owner', 'POST', '/notifications', { json: { condition, action } });
  await capped.call('owner', 'POST', '/devices/d/sensors/s/values', {
    json: [{ value: 1 }, { value: 2 }, { value: 3 }],
  });
  await capped.running.idle();
  const told = Object.entries(await figuresOf(capped)).filter(([name]) => /^dundun_(rules|message)/.test(name));
  assert.deepEqual(Object.fromEntries(told), {
    dundun_rules_datapoints_waiting: '0',
    dundun_rules_datapoints_behind: '0',
    dundun_rules_fired_total: '2',
    dundun_messages_capped_total: '2',
    'dundun_message_errors_total{channel="email"}': '2',
    'dundun_messages_total{channel="none",state="sent"}': '2',
    // To a user who does not exist.
    'dundun_messages_total{channel="none",state="failed"}': '2',
    'dundun_messages_total{channel="sms",state="undelivered"}': '2',
    'dundun_messages_total{channel="sms",state="failed"}': '2',
    'dundun_messages_total{channel="email",state="failed"}': '4',
  });
});
