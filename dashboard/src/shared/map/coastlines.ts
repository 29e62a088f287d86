// Coasts and borders under a map without tiles, so that one sees where in the world it is; no other host is asked. Some
// sixty kilobytes, loaded by map-view.tsx after the markers. Written by dashboard/build/coastlines.ts.

import { coastlines } from 'virtual:coastlines';
import L from 'leaflet';

export interface CoastColors {
  readonly land: string;
  readonly coast: string;
  readonly border: string;
}

/** One layer for each, drawn on a canvas: thousands of lines are too many for elements. */
export function coastLayer({ land, coast, border }: CoastColors, pane: string): L.Layer {
  const renderer = L.canvas({ padding: 0.5, pane });
  const still = { renderer, pane, interactive: false, smoothFactor: 1.5 } as const;
  const rings = coastlines.land.map(decode);
  const ground = L.polygon(rings, { ...still, stroke: false, fillColor: land, fillOpacity: 1 });
  const coasts = L.polyline(rings.flatMap(coastsOf), { ...still, color: coast, weight: 1 });
  const borders = L.polyline(coastlines.borders.map(decode), { ...still, color: border, weight: 1 });
  return L.layerGroup([ground, coasts, borders]);
}

/** A ring without what is no coast of it: where it was cut at 180°, or led along the pole. */
function coastsOf(ring: readonly L.LatLngTuple[]): L.LatLngTuple[][] {
  const lines: L.LatLngTuple[][] = [[]];
  for (const [at, point] of ring.entries()) {
    const before = ring[at - 1];
    if (before !== undefined && isEdge(before) && isEdge(point)) lines.push([]);
    lines.at(-1)?.push(point);
  }
  return lines.filter((line) => line.length > 1);
}

function isEdge([latitude, longitude]: L.LatLngTuple): boolean {
  return Math.abs(longitude) === 180 || Math.abs(latitude) === 90;
}

/** Hundredths of a degree as differences, zigzag, five bits a character. */
function decode(text: string): L.LatLngTuple[] {
  const line: L.LatLngTuple[] = [];
  let [at, x, y] = [0, 0, 0];
  const next = () => {
    let [number, factor] = [0, 1];
    for (;;) {
      const bits = text.charCodeAt(at) - 63;
      at += 1;
      number += (bits % 32) * factor;
      factor *= 32;
      if (bits < 32) return number % 2 === 0 ? number / 2 : -(number + 1) / 2;
    }
  };
  while (at < text.length) {
    x += next();
    y += next();
    line.push([y / 100, x / 100]);
  }
  return line;
}
