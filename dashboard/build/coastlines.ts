// Coasts and borders for the map without tiles, cut down from Natural Earth (public domain, by way of world-atlas) to what
// a map of devices needs: a hundredth of a degree, no islet that is smaller than a dot, no point that bends nothing. Run by
// vite.config.ts as the module `virtual:coastlines`; drawn by shared/map/coastlines.ts.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

interface Topology {
  readonly arcs: readonly (readonly [number, number][])[];
  readonly transform: { readonly scale: readonly [number, number]; readonly translate: readonly [number, number] };
  readonly objects: {
    readonly countries: { readonly geometries: readonly Geometry[] };
    readonly land: { readonly geometries: readonly Geometry[] };
  };
}

type Geometry =
  | { readonly type: 'Polygon'; readonly arcs: readonly number[][] }
  | { readonly type: 'MultiPolygon'; readonly arcs: readonly number[][][] };

/** Hundredths of a degree: longitude, latitude. */
type Point = readonly [number, number];

/** How far a line may leave what it stands for, hundredths of a degree: some four kilometres. */
const tolerance = 4;
/** Width and height below which an island is left out, hundredths of a degree, together. */
const islandMin = 14;

/** Lines as texts: for each point how far it is from the one before, in `encode`’s way. */
export function coastlines(): { readonly land: readonly string[]; readonly borders: readonly string[] } {
  const file = createRequire(import.meta.url).resolve('world-atlas/countries-50m.json');
  const { arcs, transform, objects } = JSON.parse(readFileSync(file, 'utf8')) as Topology;
  const lines = arcs.map((arc) => pointsOf(arc, transform));
  const simple = lines.map(simplify);
  const lineAt = (index: number, of: readonly (readonly Point[])[]) =>
    index >= 0 ? (of[index] ?? []) : (of[~index] ?? []).toReversed();
  const rings = objects.land.geometries.flatMap(ringsOf);
  const land = rings
    .map((ring) => ring.flatMap((index, at) => lineAt(index, simple).slice(at === 0 ? 0 : 1)))
    .flatMap(cutAtDateLine)
    .filter((ring) => ring.length > 3 && sizeOf(ring) >= islandMin);
  const uses = new Map<number, number>();
  for (const index of objects.countries.geometries.flatMap(ringsOf).flat()) {
    const arc = index >= 0 ? index : ~index;
    uses.set(arc, (uses.get(arc) ?? 0) + 1);
  }
  const borders = [...uses].filter(([, count]) => count > 1).map(([arc]) => simple[arc] ?? []);
  return { land: land.map(encode), borders: borders.filter((line) => line.length > 1).map(encode) };
}

/** Half a turn, hundredths of a degree. */
const half = 18_000;
const pole = 9_000;

/**
 * A ring that crosses 180° as rings that do not: left whole, it would be drawn across the whole map. One that goes round a pole, as
 * that of Antarctica does, is led along the edge of the map.
 */
function cutAtDateLine(ring: readonly Point[]): readonly (readonly Point[])[] {
  let turns = 0;
  const straight = ring.map(([x, y], at): Point => {
    const before = ring[at - 1]?.[0] ?? x;
    if (Math.abs(x - before) > half) turns += x < before ? 2 * half : -2 * half;
    return [x + turns, y];
  });
  const [[firstX, firstY], [lastX]] = [straight[0] as Point, straight.at(-1) as Point];
  if (turns !== 0) {
    const y = firstY < 0 ? -pole : pole;
    straight.push([lastX, y], [firstX, y], [firstX, firstY]);
  }
  const xs = straight.map(([x]) => x);
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  if (low >= -half && high <= half) return [straight];
  const parts: (readonly Point[])[] = [];
  for (let turn = Math.floor((low + half) / (2 * half)); turn * 2 * half - half < high; turn += 1) {
    const middle = turn * 2 * half;
    const inside = beside(beside(straight, middle - half, 1), middle + half, -1);
    if (inside.length > 3) parts.push(inside.map(([x, y]): Point => [x - middle, y]));
  }
  return parts;
}

/** What of a ring lies east (1) or west (-1) of a meridian, by Sutherland and Hodgman. */
function beside(ring: readonly Point[], meridian: number, side: 1 | -1): readonly Point[] {
  const isInside = ([x]: Point) => (x - meridian) * side >= 0;
  const found: Point[] = [];
  for (const [at, point] of ring.entries()) {
    const before = ring[at - 1] ?? (ring.at(-1) as Point);
    if (isInside(before) !== isInside(point)) {
      const part = (meridian - before[0]) / (point[0] - before[0]);
      found.push([meridian, Math.round(before[1] + part * (point[1] - before[1]))]);
    }
    if (isInside(point)) found.push(point);
  }
  const [first] = found;
  return first === undefined ? [] : [...found, first];
}

function ringsOf(geometry: Geometry): readonly number[][] {
  return geometry.type === 'Polygon' ? geometry.arcs : geometry.arcs.flat();
}

function pointsOf(arc: readonly [number, number][], { scale, translate }: Topology['transform']): readonly Point[] {
  let [x, y] = [0, 0];
  return arc.map(([dx, dy]) => {
    [x, y] = [x + dx, y + dy];
    return [Math.round((x * scale[0] + translate[0]) * 100), Math.round((y * scale[1] + translate[1]) * 100)];
  });
}

/** By Douglas and Peucker: a point stays if it is far from the line that leaves it out. */
function simplify(line: readonly Point[]): readonly Point[] {
  const [first, last] = [line[0], line.at(-1)];
  if (first === undefined || last === undefined || line.length < 3) return line;
  // A ring begins where it ends: it is cut at the point that is farthest from there.
  let [farthest, at] = [0, 0];
  for (const [index, point] of line.entries()) {
    const distance = distanceTo(point, first, last);
    if (distance > farthest) [farthest, at] = [distance, index];
  }
  if (farthest <= tolerance) return [first, last];
  return [...simplify(line.slice(0, at + 1)).slice(0, -1), ...simplify(line.slice(at))];
}

function distanceTo([x, y]: Point, [x1, y1]: Point, [x2, y2]: Point): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const part = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - x1) * dx + (y - y1) * dy) / length));
  return Math.hypot(x - x1 - part * dx, y - y1 - part * dy);
}

function sizeOf(ring: readonly Point[]): number {
  const [xs, ys] = [ring.map(([x]) => x), ring.map(([, y]) => y)];
  return Math.max(...xs) - Math.min(...xs) + Math.max(...ys) - Math.min(...ys);
}

/** Differences, zigzag, five bits a character from `?` on; a set sixth bit says that more follow. */
function encode(line: readonly Point[]): string {
  let [text, beforeX, beforeY] = ['', 0, 0];
  for (const [x, y] of line) {
    text += encodeNumber(x - beforeX) + encodeNumber(y - beforeY);
    [beforeX, beforeY] = [x, y];
  }
  return text;
}

function encodeNumber(number: number): string {
  let rest = number < 0 ? -number * 2 - 1 : number * 2;
  let text = '';
  while (rest >= 32) {
    text += String.fromCharCode(63 + (rest % 32) + 32);
    rest = Math.floor(rest / 32);
  }
  return text + String.fromCharCode(63 + rest);
}
