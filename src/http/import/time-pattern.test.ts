// Patterns of times: a text written by a pattern is parsed to the same time, and no text takes long to parse.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parseTimeFormat } from './time-format.ts';

const instantMs = Date.UTC(2026, 10, 3, 14, 5, 9, 70);

suite('a time is read as its pattern says', () => {
  const rows: readonly (readonly [pattern: string, text: string, wallMs: number | undefined, offsetMs?: number])[] = [
    ['D.M.YYYY[ H:mm[:ss[.SSS]]]', '3.11.2026 14:05:09,07', instantMs],
    ['D.M.YYYY[ H:mm[:ss[.SSS]]]', '3.11.2026 14:05', Date.UTC(2026, 10, 3, 14, 5)],
    ['D.M.YYYY[ H:mm[:ss[.SSS]]]', '3.11.2026', Date.UTC(2026, 10, 3)],
    ['D.M.YYYY[ H:mm[:ss[.SSS]]]', '3.11.2026 14', undefined],
    ['YYYYMMDD[HHmm[ss]]', '20261103140509', Date.UTC(2026, 10, 3, 14, 5, 9)],
    // One field of variable width among digits leaves no doubt.
    ['YYYY-MM-DD Hmm', '2026-11-03 905', Date.UTC(2026, 10, 3, 9, 5)],
    ['YYYY-MM-DD Hmm', '2026-11-03 1405', Date.UTC(2026, 10, 3, 14, 5)],
    ['DMMYYYY', '3112026', Date.UTC(2026, 10, 3)],
    ['MMM D, YYYY h:mm A', 'Nov. 3, 2026 2:05 p.m.', Date.UTC(2026, 10, 3, 14, 5)],
    ['D-MMM-YY[ H:mm]', '3-november-26', Date.UTC(2026, 10, 3)],
    ['D MMM YYYY', '1 août 2026', Date.UTC(2026, 7, 1)],
    ['D MMM YYYY', '1 févr. 2026', Date.UTC(2026, 1, 1)],
    ['D MMM YYYY', '1 juin 2026', Date.UTC(2026, 5, 1)],
    ['D MMM YYYY', '1 juil. 2026', Date.UTC(2026, 6, 1)],
    ['D MMM YYYY', '1 septiembre 2026', Date.UTC(2026, 8, 1)],
    ['D MMM YYYY', '1 mär. 2026', Date.UTC(2026, 2, 1)],
    ['D MMM YYYY', '1 outubro 2026', Date.UTC(2026, 9, 1)],
    ['D MMM YYYY', '1 foo 2026', undefined],
    ['YYYY-MM-DD[ HH:mm[:ss]][ Z]', '2026-11-03 +02:00', Date.UTC(2026, 10, 3), 7_200_000],
    ['YYYY-MM-DD[ HH:mm[:ss]][ Z]', '2026-11-03 14:05 -0330', Date.UTC(2026, 10, 3, 14, 5), -12_600_000],
    ['iso', '2026-11-03t14:05:09.070 +02', instantMs, 7_200_000],
    ['iso', '2026-11-31', undefined],
    ['s', '1700000000,5', 1_700_000_000_500, 0],
    ['ms', `1${'0'.repeat(300)}`, undefined],
  ];
  for (const [pattern, text, wallMs, offsetMs] of rows) {
    test(`${pattern}: ${text.slice(0, 40)}`, () => {
      assert.deepEqual(parseTimeFormat(pattern).parse(text), wallMs === undefined ? undefined : { wallMs, offsetMs });
    });
  }
});

test('a text that fails at its end takes little longer than one that fits, whatever the pattern', () => {
  const patterns = [
    ['YYYY-M-D', ''],
    [`YYYY-M-D${'[.]'.repeat(18)}`, '.'.repeat(17)],
    [`YYYY-M-D${'[.[/]]'.repeat(9)}`, './'.repeat(9)],
    ['[A][ ]MMM[.]D[.]YYYY[ ]H[:]mm', ''],
  ] as const;
  for (const [pattern, end] of patterns) {
    const format = parseTimeFormat(pattern);
    const text = `2026-1-1${end}x${'1'.repeat(200)}`;
    const startMs = performance.now();
    for (let n = 0; n < 100; n += 1) assert.equal(format.parse(text), undefined);
    const elapsedMs = performance.now() - startMs;
    // Each takes some 30 µs where it is slow; backtracking took longer than anybody waits.
    assert.ok(elapsedMs < 1_000, `${pattern}: ${elapsedMs} ms`);
  }
});
