import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../../config/limits.ts';
import type { MqttClient } from './mqtt-client.ts';
import { clientOf, tell } from './told-client.ts';

const connected: MqttClient = {
  id: 'c',
  owner: 7,
  connection: {
    sinceMs: 1,
    address: '192.0.2.1',
    transport: 'tls',
    protocolLevel: 5,
    keepAliveS: 60,
    sessionExpiryS: undefined,
    will: { topic: 't', payload: Buffer.from([0, 255]), qos: 1, retain: true },
    messagesIn: 2,
    messagesOut: 3,
    unsentBytes: 4,
  },
  kept: { awayMs: undefined, expiresMs: undefined, waitingMessages: 5, waitingBytes: 6 },
  subscriptions: [{ filter: 'a/+', qos: 1 }],
  subscriptionCount: 1,
  refused: new Map([['quota', 2]]),
};
const away: MqttClient = {
  ...{ id: 'a', owner: undefined, connection: undefined, subscriptions: [], subscriptionCount: 0, refused: new Map() },
  kept: { awayMs: 1, expiresMs: 2, waitingMessages: 0, waitingBytes: 0 },
};

test('an MQTT client that one process tells of as JSON is the same for the other', () => {
  for (const client of [connected, away, { ...connected, kept: undefined }])
    assert.deepEqual(clientOf(JSON.parse(JSON.stringify(tell(client)))), client);
});

test('of an MQTT client with long filters so many are told as an answer takes, and how many there are', () => {
  const subscriptions = Array.from({ length: 100 }, (_, n) => ({ filter: `${n}/`.padEnd(1_000, 'x'), qos: 0 }));
  const told = tell({ ...connected, subscriptions, subscriptionCount: 120 });
  assert.deepEqual(told.subscriptions, subscriptions.slice(0, Math.floor(limits.answerFilterChars / 1_000)));
  assert.equal(told.subscriptionCount, 120);
});
