// The coasts as the map draws them: no line leads across it.
import assert from 'node:assert/strict';
import { test } from 'node:test';

const file = new URL('../../dashboard/build/coastlines.ts', import.meta.url).href;
const { coastlines } = (await import(file)) as {
  coastlines: () => { readonly land: readonly string[]; readonly borders: readonly string[] };
};

test('no ring of land and no border leads across the map, and none lies beside it', () => {
  const { land, borders } = coastlines();
  for (const line of [...land, ...borders].map(decode)) {
    for (const [at, [x, y]] of line.entries()) {
      assert.ok(Math.abs(x) <= 18_000 && Math.abs(y) <= 9_000, `${x} ${y}`);
      const before = line[at - 1];
      // The edge of the map below Antarctica is as long as it.
      if (before !== undefined && Math.abs(y) !== 9_000)
        assert.ok(Math.abs(x - before[0]) < 9_000, `from ${before} to ${x} ${y}`);
    }
  }
});

test('land lies on both sides of 180 degrees where it does, and around the pole', () => {
  const { land } = coastlines();
  const rings = land.map(decode);
  const reaches = (edge: number, [south, north]: readonly [number, number]) =>
    rings.some((ring) => ring.some(([x, y]) => x === edge && y > south && y < north));
  // Chukotka and Antarctica.
  for (const edge of [-18_000, 18_000]) {
    assert.ok(reaches(edge, [6_500, 7_200]), `${edge}`);
    assert.ok(reaches(edge, [-9_001, -7_500]), `${edge}`);
  }
});

/** As shared/map/coastlines.ts reads them. */
function decode(text: string): (readonly [number, number])[] {
  const numbers: number[] = [];
  let [number, factor] = [0, 1];
  for (const sign of text) {
    const bits = sign.charCodeAt(0) - 63;
    number += (bits % 32) * factor;
    factor *= 32;
    if (bits >= 32) continue;
    numbers.push(number % 2 === 0 ? number / 2 : -(number + 1) / 2);
    [number, factor] = [0, 1];
  }
  let [x, y] = [0, 0];
  return Array.from({ length: numbers.length / 2 }, (_, at) => {
    [x, y] = [x + (numbers[2 * at] ?? 0), y + (numbers[2 * at + 1] ?? 0)];
    return [x, y] as const;
  });
}
