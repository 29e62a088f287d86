// Callers take turns, and what waits for one of them comes in its order, however much that is.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Caller } from './caller.ts';
import { CallerRotation } from './caller-rotation.ts';

suite('what waits, callers in rotation', () => {
  test('has the next of each caller in turns, each in its order, also behind thousands', () => {
    const rotation = new CallerRotation();
    const [many, few] = [new Caller('many'), new Caller('few')];
    const taken: string[] = [];
    const add = (caller: Caller, name: string) => rotation.add(caller, () => taken.push(name));
    for (let n = 0; n < 2_500; n += 1) add(many, `many ${n}`);
    for (let n = 0; n < 2; n += 1) add(few, `few ${n}`);
    for (let n = 0; n < 1_200; n += 1) rotation.take()?.();
    add(few, 'few 2');
    add(many, 'many 2500');
    while (!rotation.isEmpty) rotation.take()?.();
    assert.deepEqual(taken.slice(0, 5), ['many 0', 'few 0', 'many 1', 'few 1', 'many 2']);
    assert.equal(taken[1_201], 'few 2');
    assert.deepEqual(
      taken.filter((name) => name.startsWith('many')),
      Array.from({ length: 2_501 }, (_, n) => `many ${n}`),
    );
    assert.equal(rotation.take(), undefined);
  });
});
