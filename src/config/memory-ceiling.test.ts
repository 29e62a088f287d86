// Which ceiling the memory of the process has on which machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryCeilingOf } from './memory-ceiling.ts';

const mib = 2 ** 20;
const cases = [
  { name: 'a large machine: the default', set: undefined, memory: { bytes: 8e9, of: 'machine' }, bytes: 512 * mib, of: 'default' },
  { name: 'a small machine: half of its memory', set: undefined, memory: { bytes: 800e6, of: 'machine' }, bytes: 400e6, of: 'machine' },
  { name: 'a Raspberry Pi with 512 MB: the least', set: undefined, memory: { bytes: 430e6, of: 'machine' }, bytes: 256e6, of: 'machine' },
  { name: 'a container: nine tenths of its memory', set: undefined, memory: { bytes: 450e6, of: 'container' }, bytes: 405e6, of: 'container' },
  { name: 'a large container: the default', set: undefined, memory: { bytes: 2e9, of: 'container' }, bytes: 512 * mib, of: 'default' },
  { name: 'what is set holds on any machine', set: 1e9, memory: { bytes: 800e6, of: 'machine' }, bytes: 1e9, of: 'setting' },
] as const; // biome-ignore format: a table

for (const { name, set, memory, bytes, of } of cases) {
  test(name, () => {
    const ceiling = memoryCeilingOf(set, memory);
    assert.deepEqual({ bytes: ceiling.bytes, of: ceiling.of }, { bytes, of });
  });
}
