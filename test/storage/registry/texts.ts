// Texts and JSON values that a client may choose, the odd ones first: what a store must give back as it was.
import fc from 'fast-check';
import { isStorableText, type Json } from '../../../src/base/text/json.ts';

const oddTexts: readonly string[] = [
  '',
  ' ',
  '\u0001\u001f\u007f\u0080',
  // Looks like a NUL, and is none.
  '\\u0000 %00 \\x00 \u2400 \\0',
  '🥁 👩‍👩‍👧‍👦 🇸🇳 \u{10ffff}',
  'e\u0301 é ﷺ ‮kora',
  '\ufeff\uffff\u2028\u2029',
  "'; DROP TABLE user; --",
  '" \\ \\\\ $1 ? :a %_',
  '\r\n\t',
  'null',
  '0',
  '1e5',
  '{"a":[1]}',
  'x'.repeat(256),
  '場'.repeat(256),
  '🥁'.repeat(128),
];

export const anyText: fc.Arbitrary<string> = fc
  .oneof(fc.constantFrom(...oddTexts), fc.string({ unit: 'binary', maxLength: 20 }))
  .filter(isStorableText);

/** JSON that is not null, as `location` and `meta` are. */
export const anyJson: fc.Arbitrary<Exclude<Json, null>> = fc
  .oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.dictionary(anyText, anyText, { maxKeys: 3, noNullPrototype: true }),
    fc.array(anyText, { maxLength: 3 }),
  )
  .map((value) => JSON.parse(JSON.stringify(value)) as Json)
  .filter((value) => value !== null) as fc.Arbitrary<Exclude<Json, null>>;

/** A time that JavaScript can tell, in milliseconds since 1970 UTC. */
export const anyTimeMs: fc.Arbitrary<number> = fc.integer({ min: 0, max: 8.64e15 });
