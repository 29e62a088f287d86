// The hash of publishes is MurmurHash3_x86_128, and depends on all that a publish is compared by.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentHash } from '../../domain/datapoints/publish-fingerprint.ts';
import { publishFingerprint, topicHash } from './fingerprint.ts';
import { RememberedSession, SessionHolder } from './remembered-sessions.ts';

const hex = ({ h0, h1, h2, h3 }: ContentHash) =>
  [h0, h1, h2, h3].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');

test('texts have the hashes of the published algorithm', () => {
  assert.equal(hex(topicHash('')), '00000000000000000000000000000000');
  assert.equal(hex(topicHash('The quick brown fox jumps over the lazy dog')), '2f1583c3ecee2c675d7bf66ce5e91d2c');
});

test('a changed topic, part or byte, wherever it stands, and bytes more or fewer, give another hash', () => {
  const session = new RememberedSession(new SessionHolder(1), 2 ** 48 - 1);
  const seen = new Set<string>();
  let made = 0;
  const see = (topic: string, part: number, bytes: Uint8Array) => {
    const content = {
      part,
      bytes: Buffer.concat([Buffer.of(1), bytes, Buffer.of(2)]),
      start: 1,
      end: 1 + bytes.length,
    };
    const fingerprint = publishFingerprint(session, 7, topicHash(topic), content);
    assert.ok([fingerprint.h0, fingerprint.h1, fingerprint.h2, fingerprint.h3].every((word) => (word | 0) === word));
    seen.add(hex(fingerprint));
    made += 1;
  };
  for (let length = 0; length < 70; length++) {
    const bytes = Buffer.alloc(length);
    see('a', 1, bytes);
    see('b', 1, bytes);
    see('a', 2, bytes);
    see('a', 1 + 2 ** 32, bytes);
    for (let at = 0; at < length; at++) {
      bytes[at] = 1;
      see('a', 1, bytes);
      bytes[at] = 0;
    }
  }
  assert.equal(seen.size, made);
});
