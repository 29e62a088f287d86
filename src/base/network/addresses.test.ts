// The key under which requests of an address are counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalAddress } from './addresses.ts';

const keys: readonly (readonly [string | undefined, string])[] = [
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:c000:0207', '192.0.2.7'],
  ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:0:1:aaaa:bbbb:cccc:dddd', '2001:db8:0:1::/64'],
  ['2001:DB8:0:1::1', '2001:db8:0:1::/64'],
  ['2001:0db8:0000:0001::', '2001:db8:0:1::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['fe80::1%', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
  ['', 'unknown'],
  ['somewhere', 'unknown'],
  ['192.0.2.256', 'unknown'],
  ['192.0.2.7%eth0', 'unknown'],
  ['1:2:3', 'unknown'],
  [`::1%${'x'.repeat(1_000)}`, 'unknown'],
];

for (const [address, key] of keys) {
  test(`the address ${String(address).slice(0, 50)} is counted as ${key}`, () => {
    assert.equal(canonicalAddress(address), key);
  });
}
