// HTTP and MQTT count the same caller once, and the number of callers in memory is bounded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Callers } from './callers.ts';

test('a user is one caller, and an address is one caller however it is written', () => {
  const callers = new Callers();
  assert.equal(callers.ofUser({ id: 'u1' }), callers.ofUser({ id: 'u1' }));
  assert.notEqual(callers.ofUser({ id: 'u1' }), callers.ofUser({ id: 'u2' }));
  assert.equal(callers.ofAddress('192.0.2.1'), callers.ofAddress('::ffff:192.0.2.1'));
  assert.equal(callers.ofAddress('2001:db8::1'), callers.ofAddress('2001:db8::2'));
  assert.notEqual(callers.ofAddress('2001:db8:0:1::1'), callers.ofAddress('2001:db8:0:2::1'));
  assert.equal(callers.ofAddress(undefined), callers.ofAddress('nonsense'));
});

test('no name of a user is taken for an address', () => {
  const callers = new Callers();
  assert.notEqual(callers.ofUser({ id: '192.0.2.1' }), callers.ofAddress('192.0.2.1'));
});

test('of too many callers the one asked for longest ago is forgotten, and none that holds something', () => {
  const callers = new Callers({ max: 3 });
  const holding = callers.ofAddress('192.0.2.1');
  holding.held[0] = 1;
  const asked = callers.ofAddress('192.0.2.2');
  const forgotten = callers.ofAddress('192.0.2.3');
  callers.ofAddress('192.0.2.2');
  callers.ofAddress('192.0.2.4');
  assert.equal(callers.size, 3);
  assert.equal(callers.ofAddress('192.0.2.1'), holding);
  assert.equal(callers.ofAddress('192.0.2.2'), asked);
  assert.notEqual(callers.ofAddress('192.0.2.3'), forgotten);
});
