// The maximum number of connections, by memory and descriptors of the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryOf } from '../../base/memory/machine-memory.ts';
import { limits } from '../../config/limits.ts';
import { type ConnectionCapacity, connectionsMaxOf, connectionsMaxWithin } from './connections-max.ts';

const gib = 1024 ** 3;
const large: ConnectionCapacity = { descriptorsMax: 1_000_000, memory: memoryOf(64 * gib, undefined), isTls: false };

test('a large machine holds as many connections as the limits say', () => {
  assert.deepEqual(connectionsMaxWithin(large), { max: limits.connectionsMax, because: 'limits' });
  assert.equal(connectionsMaxWithin({ ...large, descriptorsMax: undefined }).because, 'limits');
});

test('few descriptors allow few connections, beside the files', () => {
  const room = { ...large, descriptorsMax: 20_000 };
  assert.deepEqual(connectionsMaxWithin(room), { max: 20_000 - limits.descriptorsReserve, because: 'descriptors' });
  assert.deepEqual(connectionsMaxWithin({ ...large, descriptorsMax: 1 }), { max: 1, because: 'descriptors' });
});

test('connections take a quarter of the memory at most, encrypted ones in smaller number', () => {
  const room = { ...large, memory: memoryOf(gib, undefined) };
  const plain = connectionsMaxWithin(room);
  const encrypted = connectionsMaxWithin({ ...room, isTls: true });
  assert.equal(plain.because, 'memory');
  assert.ok(plain.max * limits.connectionBytes <= gib / 4);
  assert.ok((plain.max + 1) * limits.connectionBytes > gib / 4);
  assert.ok(encrypted.max * limits.connectionBytesTls <= gib / 4);
  assert.ok(encrypted.max < plain.max);
});

test('a container with less memory than the machine counts, one without a bound of its own does not', () => {
  assert.deepEqual(memoryOf(8 * gib, 2 * gib), { bytes: 2 * gib, of: 'container' });
  for (const none of [undefined, 0, 8 * gib, 2 ** 63])
    assert.deepEqual(memoryOf(8 * gib, none), { bytes: 8 * gib, of: 'machine' });
});

test('the log tells where it is the memory that allows fewer, and only there', () => {
  const lines: object[] = [];
  const log = { warn: (fields: object) => lines.push(fields) } as unknown as Parameters<typeof connectionsMaxOf>[1];
  connectionsMaxOf(large, log);
  assert.deepEqual(lines, []);
  const memory = memoryOf(8 * gib, gib / 2);
  const max = connectionsMaxOf({ ...large, memory }, log);
  assert.deepEqual(lines, [{ connectionsMax: max, memoryBytes: gib / 2, of: 'container' }]);
});
