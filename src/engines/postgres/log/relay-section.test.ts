import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { batchOf, nowMs } from '../../../../test/support/points.ts';
import type { ClientMessage } from '../../../domain/ports/commit-log.ts';
import { CorruptChunk } from '../../shared/codec/bytes/corrupt-chunk.ts';
import { decodeRow, encodeBatch } from './log-row.ts';
import { decodeRelays, encodeRelays } from './relay-section.ts';

const place = { writer: 3, seq: 9 };
const messages: ClientMessage[] = [
  { topic: 'users/ana/a', payload: Buffer.alloc(0), qos: 0, retain: true, user: 2 ** 40 },
  {
    ...{ topic: 'devices/ärger/x', payload: Buffer.from([0, 255, 7]), qos: 2, retain: false, user: 1, gateway: 7 },
    ...{ properties: Buffer.from('props'), expiresMs: nowMs + 0.5, publisherId: 'ärger' },
  },
];

suite('the section of a row that has messages between clients', () => {
  test('gives them back, beside datapoints', () => {
    const row = encodeBatch(batchOf([{ sensor: 1, value: 2 }]), place, { relays: encodeRelays(messages) });
    const { relays, rows } = decodeRow(row, place, 1);
    assert.equal(rows.length > 0, true);
    assert.deepEqual(decodeRelays(relays as Buffer), messages);
  });

  test('that is cut short anywhere is refused, or has fewer messages', () => {
    const section = encodeRelays(messages);
    const first = encodeRelays(messages.slice(0, 1)).length;
    for (let length = 1; length < section.length; length++) {
      if (length === first) continue;
      assert.throws(() => decodeRelays(section.subarray(0, length)), CorruptChunk, String(length));
    }
  });

  test('with a QoS that there is not is refused', () => {
    const section = encodeRelays(messages.slice(0, 1));
    section[1] = 3;
    assert.throws(() => decodeRelays(section), CorruptChunk);
  });
});
