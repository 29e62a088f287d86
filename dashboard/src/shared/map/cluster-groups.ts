// Which markers of a map become one, so that none lies over another: markers in one square first, then whatever would still
// overlap. Used by cluster-layer.ts.
import type { MapMarker } from './map-marker.ts';

export interface MarkerGroup {
  readonly markers: readonly MapMarker[];
  /** Where it is drawn, pixels of the map. */
  readonly x: number;
  readonly y: number;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Side of the square within which markers become one. */
const cellPixels = 56;
/** Between two markers. */
const gapPixels = 3;
/** Each time fewer are left; they come to rest long before. */
const passesMax = 20;

export function sizeOf(count: number): number {
  return count === 1 ? 18 : count > 999 ? 50 : count > 99 ? 44 : 36;
}

export function groupMarkers(markers: readonly MapMarker[], project: (marker: MapMarker) => Place): MarkerGroup[] {
  const placed = markers.map((marker) => ({ markers: [marker], ...project(marker) }));
  let groups = [...Map.groupBy(placed, (one) => cellOf(one, cellPixels)).values()].map(joined);
  for (let pass = 0; pass < passesMax; pass += 1) {
    const fewer = joinOverlapping(groups);
    if (fewer.length === groups.length) break;
    groups = fewer;
  }
  return groups;
}

/** Each takes in those around it that it would touch. */
function joinOverlapping(groups: readonly MarkerGroup[]): MarkerGroup[] {
  const cells = Map.groupBy(groups, (group) => cellOf(group, cellPixels));
  const taken = new Set<MarkerGroup>();
  const result: MarkerGroup[] = [];
  for (const group of groups.toSorted((a, b) => b.markers.length - a.markers.length)) {
    if (taken.has(group)) continue;
    taken.add(group);
    const touched = aroundOf(group, cells).filter((other) => !taken.has(other) && isTouching(group, other));
    for (const other of touched) taken.add(other);
    result.push(joined([group, ...touched]));
  }
  return result;
}

function aroundOf({ x, y }: Place, cells: ReadonlyMap<string, MarkerGroup[]>): readonly MarkerGroup[] {
  const steps = [-cellPixels, 0, cellPixels];
  return steps.flatMap((dx) => steps.flatMap((dy) => cells.get(cellOf({ x: x + dx, y: y + dy }, cellPixels)) ?? []));
}

function isTouching(a: MarkerGroup, b: MarkerGroup): boolean {
  const apart = (sizeOf(a.markers.length) + sizeOf(b.markers.length)) / 2 + gapPixels;
  return Math.hypot(a.x - b.x, a.y - b.y) < apart;
}

/** In the middle of all of its markers. */
function joined(groups: readonly MarkerGroup[]): MarkerGroup {
  const [first] = groups;
  if (groups.length === 1 && first !== undefined) return first;
  const count = groups.reduce((sum, { markers }) => sum + markers.length, 0);
  const mean = (of: (group: MarkerGroup) => number) =>
    groups.reduce((sum, group) => sum + of(group) * group.markers.length, 0) / count;
  return { markers: groups.flatMap(({ markers }) => markers), x: mean(({ x }) => x), y: mean(({ y }) => y) };
}

function cellOf({ x, y }: Place, side: number): string {
  return `${Math.floor(x / side)} ${Math.floor(y / side)}`;
}

/** Markers of one place beside each other around it, where the map comes no closer. */
export function spread({ markers, x, y }: MarkerGroup): readonly (Place & { readonly marker: MapMarker })[] {
  if (markers.length === 1) return markers.map((marker) => ({ marker, x, y }));
  const radius = Math.max(14, (markers.length * (sizeOf(1) + gapPixels)) / (2 * Math.PI));
  return markers.map((marker, index) => {
    const angle = (index / markers.length) * 2 * Math.PI;
    return { marker, x: x + radius * Math.cos(angle), y: y + radius * Math.sin(angle) };
  });
}
