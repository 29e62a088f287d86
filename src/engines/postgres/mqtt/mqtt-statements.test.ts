// Few statements for many changes, in an order that is that of the changes where it matters.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { MqttChange } from '../../shared/mqtt/mqtt-tables.ts';
import { StoredSession } from '../../shared/mqtt/sessions/mqtt-session.ts';
import { planUnit } from './mqtt-statements.ts';

suite('changes of one unit', () => {
  const session = (key: number) => new StoredSession(key, `c${key}`);
  const enqueue = (message: number, sessions: readonly StoredSession[]): MqttChange => ({
    ...{ kind: 'message', message, topic: 't', payload: 'x', rest: null, bytes: 66 },
    recipients: new Map(sessions.map((each) => [each, 1])),
  });

  test('many messages and acknowledgements take few statements', () => {
    const sessions = Array.from({ length: 100 }, (_, key) => session(key));
    const changes: MqttChange[] = [];
    for (let i = 1; i <= 1_000; i++) {
      changes.push(enqueue(i, sessions));
      changes.push({ kind: 'sent', session: i % 100, message: i, packetId: i });
      changes.push({ kind: 'acknowledged', session: i % 50, message: 5_000 + i });
      const row = { topic: `t/${i}`, payload: 'x', rest: null, qos: 1, user: 1, extra: 0, mayAdd: true };
      changes.push({ kind: 'retained', ...row });
      changes.push({ kind: 'away', session: i % 100, awayMs: i });
    }
    assert.equal(planUnit(changes, 0).statements.length, 6);
  });

  test('a session that begins under the id of one that ends is stored after it', () => {
    const begin = (key: number): MqttChange => ({
      kind: 'session',
      session: key,
      clientId: 'c',
      user: 1,
      awayMs: null,
      expiryS: null,
    });
    const end = (key: number): MqttChange => ({ kind: 'session-ended', session: key, clientId: 'c' });
    const { statements } = planUnit([begin(1), end(1), begin(2), end(2), begin(3)], 0);
    const kinds = statements.map(({ sql }) => (sql.startsWith('INSERT') ? 'begin' : 'end'));
    assert.deepEqual(kinds, ['begin', 'end', 'begin', 'end', 'begin']);
  });
});
