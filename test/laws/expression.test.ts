// The expression of a rule: its grammar, its refusals, the law of printing, and what it evaluates to.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '../../src/base/refusal.ts';
import type { Json } from '../../src/base/text/json.ts';
import { limits } from '../../src/config/limits.ts';
import {
  type ComparedValue,
  type ComparisonOperator,
  type Expression,
  printExpression,
  sensorsOf,
} from '../../src/domain/notifications/rules/expression.ts';
import { holds, isInNoFireRange, noFireRangeOf } from '../../src/domain/notifications/rules/expression-evaluation.ts';
import { parseExpression } from '../../src/domain/notifications/rules/expression-parser.ts';
import { properties } from '../support/properties.ts';

const present = (sensor: string): Expression => ({ kind: 'present', sensor });
const compared = (sensor: string, operator: ComparisonOperator, ...items: ComparedValue[]): Expression => {
  return { kind: 'compare', sensor, operator, items };
};
const and = (...terms: Expression[]): Expression => ({ kind: 'and', terms });
const or = (...terms: Expression[]): Expression => ({ kind: 'or', terms });

describe('an expression', () => {
  const readings: readonly (readonly [text: string, tree: Expression])[] = [
    ['', { kind: 'always' }],
    [' \t\n', { kind: 'always' }],
    ['TC<40', compared('TC', '<', 40)],
    ['TC1>10', compared('TC1', '>', 10)],
    [' TC <= -1.5e3 ', compared('TC', '<=', -1500)],
    ['A>=.5', compared('A', '>=', 0.5)],
    ['A==+5.', compared('A', '==', 5)],
    ['A=="open"', compared('A', '==', 'open')],
    [`A!='say "no"'`, compared('A', '!=', 'say "no"')],
    ['A=="a\\"b\\\\c\\d"', compared('A', '==', 'a"b\\c\\d')],
    ['A==";||()"', compared('A', '==', ';||()')],
    ['A==1,2', compared('A', '==', 1, 2)],
    ['A!=1,"x", 3', compared('A', '!=', 1, 'x', 3)],
    ['A==10..30', compared('A', '==', { from: 10, to: 30 })],
    ['A==-1.5...5,7', compared('A', '==', { from: -1.5, to: 0.5 }, 7)],
    ['A', present('A')],
    ['A;B', and(present('A'), present('B'))],
    ['A&&B;C', and(present('A'), present('B'), present('C'))],
    ['A||B;C', or(present('A'), and(present('B'), present('C')))],
    ['(A||B);C', and(or(present('A'), present('B')), present('C'))],
    ['((A<1))', compared('A', '<', 1)],
    ['(A;B);C', and(and(present('A'), present('B')), present('C'))],
  ];
  for (const [text, tree] of readings) {
    test(`${JSON.stringify(text)} is read`, () => assert.deepEqual(parseExpression(text), tree));
  }

  const ids: readonly (readonly [text: string, tree: Expression])[] = [
    ['A!=3', compared('A', '!=', 3)],
    ['A !=3', compared('A', '!=', 3)],
    ['A! == 3', compared('A!', '==', 3)],
    ['A!==3', compared('A!', '==', 3)],
    ['A!!=3', compared('A!', '!=', 3)],
    ['A!<3', compared('A!', '<', 3)],
    ['"A!"!=3', compared('A!', '!=', 3)],
    ['a-1<5', compared('a-1', '<', 5)],
    ['a.b,c:1@x<5', compared('a.b,c:1@x', '<', 5)],
    ['A|B', present('A|B')],
    ['A||B', or(present('A'), present('B'))],
    ['A|||B', or(present('A'), present('|B'))],
    [`'A||B' > 1`, compared('A||B', '>', 1)],
    ['40', present('40')],
    ['[0]{`~}^\\$%*<1', compared('[0]{`~}^\\$%*', '<', 1)],
  ];
  for (const [text, tree] of ids) {
    test(`${text} has the sensor ids that its author means`, () => assert.deepEqual(parseExpression(text), tree));
  }

  const refusals: readonly (readonly [text: string, said: RegExp])[] = [
    ['TC<', /column 4: expected a number/],
    ['TC<hot', /column 4: .*text in quotes/],
    ['TC=4', /column 3: expected ; or/],
    ['TC<40abc', /column 4: expected a number/],
    ['TC < 4 B', /column 8: expected ; or/],
    ['TC<4;', /column 6: expected a sensor id/],
    ['||TC', /column 1: expected a sensor id/],
    ['A&B', /column 2: expected ;/],
    ['(A;B', /column 5: expected \)/],
    ['A)', /column 2: expected ;/],
    ['()', /column 2: expected a sensor id/],
    ['A=="x', /column 4: this quote is never closed/],
    ['A<1,2', /column 4: a list goes with == or !=/],
    ['A>1..2', /column 3: a range goes with == or !=/],
    ['A==30..10', /column 4: the first end/],
    ['A==1e999', /column 4: the number is too large/],
    ['A==1..', /column 7: expected a number/],
    ['Température<3', /column 5: expected ;/],
    ['""<3', /column 1: .*no sensor id/],
    ['"a b"<3', /column 1: a b is no sensor id/],
    ['..<3', /column 1: \.\. is no sensor id/],
    ['A==\u{1f600}', /column 4/],
    ['A\ud800', /surrogate/],
    [`${'a'.repeat(257)}<1`, /column 1: a{40}… is no sensor id/],
  ];
  for (const [text, said] of refusals) {
    test(`${JSON.stringify(text.slice(0, 40))} is refused where it goes wrong`, () =>
      assert.match(refusalOf(text), said));
  }

  test('is bounded in length, comparisons, values and depth', () => {
    const { expressionCharsMax, expressionComparisonsMax, expressionDepthMax, expressionItemsMax } = limits;
    const nested = (depth: number) => `${'('.repeat(depth)}A${')'.repeat(depth)}`;
    const many = (count: number) => Array.from({ length: count }, () => 'A').join(';');
    const list = (count: number) => `A==${Array.from({ length: count }, () => '1').join(',')}`;
    for (const text of [nested(expressionDepthMax), many(expressionComparisonsMax), list(expressionItemsMax)]) {
      parseExpression(text);
    }
    assert.match(refusalOf(nested(expressionDepthMax + 1)), /column 33: there are more than 32 parentheses/);
    assert.match(refusalOf(nested(expressionCharsMax / 2 - 1)), /more than 32 parentheses/);
    assert.match(refusalOf(many(expressionComparisonsMax + 1)), /more than 100 comparisons/);
    assert.match(refusalOf(list(expressionItemsMax + 1)), /more than 200 values/);
    assert.match(refusalOf(' '.repeat(expressionCharsMax + 1)), /at most 4096/);
    assert.match(refusalOf('('.repeat(1_000_000)), /at most 4096/);
  });
});

const idCharacters = [...'!$%*,-.0123456789:@ABCXYZ[\\]^_`abcxyz{|}~'];
const sensors = fc
  .oneof(
    fc.constantFrom('A', 'B', 'TC', 'a-1', 'A!', 'x|y'),
    fc.string({ unit: fc.constantFrom(...idCharacters), minLength: 1, maxLength: 8 }),
  )
  .filter((id) => id !== '.' && id !== '..');
const numbers = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.double({ noNaN: true, noDefaultInfinity: true }));
const texts = fc.oneof(
  fc.constantFrom('a', 'true', '1', '"', '\\', "'\\\\"),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
);
const ranges = fc.tuple(numbers, numbers).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }));
const cleanTexts = texts.filter((text) => text.isWellFormed() && !text.includes('\0'));
const comparisons: fc.Arbitrary<Expression> = fc.oneof(
  sensors.map(present),
  fc
    .tuple(sensors, fc.constantFrom<ComparisonOperator>('<', '<=', '>', '>='), fc.oneof(numbers, cleanTexts))
    .map(([sensor, operator, item]) => compared(sensor, operator, item)),
  fc
    .tuple(
      sensors,
      fc.constantFrom<ComparisonOperator>('==', '!='),
      fc.array(fc.oneof<fc.Arbitrary<ComparedValue>[]>(numbers, cleanTexts, ranges), { minLength: 1, maxLength: 3 }),
    )
    .map(([sensor, operator, items]) => compared(sensor, operator, ...items)),
);
const { tree: trees } = fc.letrec<{ tree: Expression; leaf: Expression }>((tie) => ({
  leaf: comparisons,
  tree: fc.oneof(
    { maxDepth: 4 },
    tie('leaf'),
    fc.array(tie('tree'), { minLength: 2, maxLength: 3 }).map((terms) => and(...terms)),
    fc.array(tie('tree'), { minLength: 2, maxLength: 3 }).map((terms) => or(...terms)),
  ),
}));
const fitting = trees.filter(
  (tree) => printExpression(tree).length <= limits.expressionCharsMax && countLeaves(tree) <= 100,
);

describe('any expression', () => {
  test('printed, reads back as the same tree', () => {
    fc.assert(
      fc.property(fitting, (tree) => assert.deepEqual(parseExpression(printExpression(tree)), tree)),
      properties(),
    );
  });

  test('names the sensors it compares, each once', () => {
    fc.assert(
      fc.property(fitting, (tree) => {
        const found: string[] = [];
        JSON.stringify(tree, (key, value) => {
          if (key === 'sensor' && !found.includes(value)) found.push(value);
          return value;
        });
        assert.deepEqual(sensorsOf(tree), found);
      }),
      properties(),
    );
  });

  const values = fc.dictionary(
    fc.constantFrom('A', 'B', 'TC', 'a-1', 'A!', 'x|y'),
    fc.oneof(
      numbers,
      fc.boolean(),
      cleanTexts,
      fc.constantFrom<Json>(null, [], [1], {}, '1', ' -2.0 ', '1e1', '', '0x1'),
    ),
    { noNullPrototype: true },
  );

  test('holds exactly when a few lines that know nothing of it say so', () => {
    fc.assert(
      fc.property(fitting, values, (tree, last) => {
        const lookup = (sensor: string) => (Object.hasOwn(last, sensor) ? (last[sensor] as Json) : undefined);
        assert.equal(
          holds(parseExpression(printExpression(tree)), lookup),
          oracle(tree, new Map(Object.entries(last))),
        );
      }),
      properties({ factor: 4 }),
    );
  });

  test('holds nowhere where a number of one sensor is in the no-fire range of all', () => {
    let inRange = 0;
    const many = fc.array(fitting, { minLength: 1, maxLength: 3 });
    const simple = fc.array(
      fc
        .tuple(fc.constantFrom<ComparisonOperator>('<', '<=', '>', '>='), numbers)
        .map(([operator, number]): Expression => ({ kind: 'compare', sensor: 'A', operator, items: [number] })),
      { minLength: 1, maxLength: 3 },
    );
    fc.assert(
      fc.property(fc.oneof(many, simple), values, numbers, (all, last, number) => {
        const found = noFireRangeOf(all, 'A');
        const lookup = (sensor: string) => (sensor === 'A' ? number : last[sensor]);
        if (found === undefined || !isInNoFireRange(number, found)) return;
        inRange += 1;
        for (const one of all) assert.equal(holds(one, lookup), false);
      }),
      properties({ factor: 5 }),
    );
    assert.ok(inRange > 0, 'no number was in a range');
  });

  test('of thresholds has its no-fire range exactly between them', () => {
    const { above, below } = { above: parseExpression('A>40;B<1||A>=38'), below: parseExpression('A<=-2||A<-1') };
    const noFireRange = noFireRangeOf([above, below], 'A');
    assert.ok(noFireRange !== undefined);
    const judged = [-2, -1.5, -1, 0, 37.9, 38, 41].map((number) => isInNoFireRange(number, noFireRange));
    assert.deepEqual(judged, [false, false, true, true, true, false, false]);
    for (const text of ['A', '', 'A==1', 'A!=1', 'A>"x"', 'B>1', 'A>1||B>1'])
      assert.equal(noFireRangeOf([parseExpression(text)], 'A'), undefined, text);
  });

  test('that is no expression is refused, never answered with anything else', () => {
    const pieces = fc.constantFrom(
      'A',
      'TC',
      '<',
      '<=',
      '==',
      '!=',
      '!',
      '=',
      '|',
      '||',
      '&',
      '&&',
      ';',
      ',',
      '..',
      '.',
      '1',
      '-2.5e3',
      '"',
      "'",
      '(',
      ')',
      ' ',
      '\\',
      'é',
      '\ud83d',
    );
    const soups = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(soups, (text) => {
        try {
          const tree = parseExpression(text);
          assert.deepEqual(parseExpression(printExpression(tree)), tree);
        } catch (error) {
          assert.ok(error instanceof Refusal && error.code === 'malformed', String(error));
          assert.equal(error.faults[0]?.pointer, '/condition/expression');
        }
      }),
      properties({ factor: 10 }),
    );
  });

  test('takes time that grows with its length alone', () => {
    const { expressionCharsMax: max } = limits;
    const worst = ['(', '!', '|', '!=', '"\\', '1', '.', '1.', ' ', 'a,', 'A==1,', 'A;', '(A||', '-', 'e'];
    const startMs = performance.now();
    for (const piece of worst) {
      for (const start of ['', 'A==', 'A=="']) {
        const text = (start + piece.repeat(max)).slice(0, max);
        try {
          parseExpression(text);
        } catch (error) {
          assert.ok(error instanceof Refusal, String(error));
        }
      }
    }
    assert.ok(performance.now() - startMs < 2000);
  });
});

describe('a comparison', () => {
  const rows: readonly (readonly [expression: string, value: Json | undefined, expected: boolean])[] = [
    ['A<40', 39.9, true],
    ['A<40', 40, false],
    ['A<40', '39.9', true],
    ['A<40', 'cold', false],
    ['A!=40', 'cold', true],
    ['A==1', true, true],
    ['A=="true"', true, true],
    ['A==0', -0, true],
    ['A=="5"', 5, true],
    ['A=="5.0"', 5, false],
    ['A<"b"', 'a', true],
    ['A==10..30', 10, true],
    ['A==10..30', 30, true],
    ['A==10..30', 30.1, false],
    ['A!=10..30', 30.1, true],
    ['A==1,"x"', 'x', true],
    ['A!=1,"x"', 'x', false],
    ['A==0', null, false],
    ['A!=0', null, true],
    ['A!=0', { a: 0 }, true],
    ['A', null, true],
    ['A', undefined, false],
    ['A!=0', undefined, false],
    ['A<40||A', undefined, false],
    ['', undefined, true],
  ];
  for (const [expression, value, expected] of rows) {
    test(`${expression || 'nothing'} with ${value === undefined ? 'no value' : JSON.stringify(value)} is ${expected}`, () => {
      assert.equal(
        holds(parseExpression(expression), () => value),
        expected,
      );
    });
  }
});

/** Says what the rules in expression-evaluation.ts say, in another way. */
function oracle(tree: Expression, last: ReadonlyMap<string, Json>): boolean {
  if (tree.kind === 'always') return true;
  if (tree.kind === 'and') return !tree.terms.map((term) => oracle(term, last)).includes(false);
  if (tree.kind === 'or') return tree.terms.map((term) => oracle(term, last)).includes(true);
  if (!last.has(tree.sensor)) return false;
  if (tree.kind === 'present') return true;
  const value = last.get(tree.sensor) as Json;
  const isScalar = value !== null && typeof value !== 'object';
  const looksNumeric = isScalar && /^\s*[+-]?(?=\.?\d)\d*\.?\d*([eE][+-]?\d+)?\s*$/.test(String(value));
  const number = typeof value === 'boolean' ? Number(value) : looksNumeric ? Number(value) : Number.NaN;
  const results = tree.items.map((item) => {
    if (typeof item === 'object') return number >= item.from && number <= item.to;
    const left =
      typeof item === 'number' ? number : isScalar ? (Object.is(value, -0) ? '0' : String(value)) : Number.NaN;
    if (tree.operator === '<') return left < item;
    if (tree.operator === '<=') return left <= item;
    if (tree.operator === '>') return left > item;
    if (tree.operator === '>=') return left >= item;
    return left === item;
  });
  return tree.operator === '!=' ? results.every((result) => !result) : results.some((result) => result);
}

function countLeaves(tree: Expression): number {
  return tree.kind === 'and' || tree.kind === 'or' ? tree.terms.reduce((sum, term) => sum + countLeaves(term), 0) : 1;
}

function refusalOf(text: string): string {
  try {
    parseExpression(text);
  } catch (error) {
    assert.ok(error instanceof Refusal && error.code === 'malformed', String(error));
    assert.equal(error.faults[0]?.pointer, '/condition/expression');
    assert.doesNotMatch(error.message, /\.\.$/);
    return error.message;
  }
  return assert.fail(`${text.slice(0, 100)} is taken`);
}
