// Topic aliases of one connection: those that a client sets, those set for it, and a client that follows these.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { properties } from '../../../test/support/properties.ts';
import { limits } from '../../config/limits.ts';
import { reasonCodes } from './reason-codes.ts';
import { InboundAliases, OutboundAliases } from './topic-aliases.ts';

suite('aliases that a client sets', () => {
  test('stand for the topic that was sent with them last', () => {
    const aliases = new InboundAliases(2);
    assert.equal(aliases.bytes, 0);
    assert.deepEqual(aliases.resolve(2, 'a'), { topic: 'a' });
    assert.deepEqual(aliases.resolve(2, ''), { topic: 'a' });
    assert.deepEqual(aliases.resolve(2, 'b'), { topic: 'b' });
    assert.deepEqual(aliases.resolve(2, ''), { topic: 'b' });
    assert.deepEqual(aliases.resolve(1, ''), { reasonCode: reasonCodes.protocolError });
  });

  test('are refused beyond the number that it was told', () => {
    for (const max of [0, 2]) {
      const aliases = new InboundAliases(max);
      for (const alias of [0, max + 1, 65_535])
        assert.deepEqual(aliases.resolve(alias, 'a'), { reasonCode: reasonCodes.topicAliasInvalid });
      assert.equal(aliases.bytes, 0);
    }
  });

  test('take no more memory than so many topics that may be published to', () => {
    const aliases = new InboundAliases(limits.topicAliasesMax);
    const longest = 'x'.repeat(limits.topicBytesMax);
    for (let alias = 1; alias <= limits.topicAliasesMax; alias++) aliases.resolve(alias, longest);
    const { bytes } = aliases;
    assert.ok(bytes < limits.topicAliasesMax * (2 * limits.topicBytesMax + 200));
    const tooLong = 'é'.repeat(30_000);
    for (let alias = 1; alias <= limits.topicAliasesMax; alias++)
      assert.deepEqual(aliases.resolve(alias, tooLong), { topic: tooLong });
    assert.ok(aliases.bytes < bytes);
    assert.deepEqual(aliases.resolve(1, ''), { topic: '' });
    for (let alias = 1; alias <= limits.topicAliasesMax; alias++) aliases.resolve(alias, longest);
    assert.equal(aliases.bytes, bytes);
  });
});

suite('aliases that are set for a client', () => {
  test('are none where it takes none', () => {
    const aliases = new OutboundAliases(0);
    assert.equal(aliases.aliasOf('a'), undefined);
    assert.equal(aliases.bytes, 0);
  });

  test('are within what it takes, known only when it was told, and lead it to the right topic', () => {
    const topics = fc.array(fc.integer({ min: 0, max: 25 }), { maxLength: 100 });
    const property = fc.property(fc.integer({ min: 1, max: 40 }), topics, (max, sent) => {
      const aliases = new OutboundAliases(max);
      const client = new Map<number, string>();
      const bound = Math.min(max, limits.topicAliasesOutMax);
      const recent: string[] = [];
      for (const number of sent) {
        const topic = `topic/${number}`;
        const { alias, isKnown } = aliases.aliasOf(topic) ?? assert.fail('no alias');
        assert.ok(alias >= 1 && alias <= bound);
        assert.equal(isKnown, recent.slice(0, bound).includes(topic), 'those used last have one');
        if (!isKnown) client.set(alias, topic);
        assert.equal(client.get(alias), topic);
        if (recent.includes(topic)) recent.splice(recent.indexOf(topic), 1);
        recent.unshift(topic);
      }
      assert.ok(aliases.bytes <= bound * 200);
    });
    fc.assert(property, properties());
  });
});
