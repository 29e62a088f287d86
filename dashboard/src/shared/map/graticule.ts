// Lines of latitude and longitude with their degrees, in place of tiles: drawn here, so that no other host is asked.
import L from 'leaflet';
import { formatNumber } from '../device/value.tsx';
import classes from './map-view.module.css';

/** Degrees between two lines. */
const stepsDegrees = [
  60, 45, 30, 15, 10, 5, 2, 1, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002,
];

/** Pixels between two lines at least, so that their labels have room. */
const gapPixelsMin = 90;

/** Degrees in words: those of the language. */
export interface DegreeWords {
  readonly north: (degrees: string) => string;
  readonly south: (degrees: string) => string;
  readonly east: (degrees: string) => string;
  readonly west: (degrees: string) => string;
}

class Graticule extends L.LayerGroup {
  readonly #words: DegreeWords;
  readonly #tag: string;

  constructor(words: DegreeWords, tag: string) {
    super();
    this.#words = words;
    this.#tag = tag;
  }

  override onAdd(map: L.Map): this {
    super.onAdd(map);
    map.on('moveend', this.#draw, this);
    this.#draw();
    return this;
  }

  override onRemove(map: L.Map): this {
    map.off('moveend', this.#draw, this);
    return super.onRemove(map);
  }

  #draw(): void {
    const map = this._map as L.Map | undefined;
    // Asked before the map has been given its first view.
    if (map === undefined || map.getZoom() === undefined) return;
    this.clearLayers();
    const bounds = map.getBounds();
    const step = stepAt(map);
    const south = Math.max(-85, bounds.getSouth());
    const north = Math.min(85, bounds.getNorth());
    const west = Math.max(-180, bounds.getWest());
    const east = Math.min(180, bounds.getEast());
    for (let at = Math.ceil(south / step) * step; at <= north; at += step) {
      this.#line([
        [at, west],
        [at, east],
      ]);
      this.#label([at, west], this.#words[at < 0 ? 'south' : 'north'](this.#degrees(at)), classes.latitude);
    }
    for (let at = Math.ceil(west / step) * step; at <= east; at += step) {
      this.#line([
        [south, at],
        [north, at],
      ]);
      this.#label(
        [Math.max(-85, bounds.getSouth()), at],
        this.#words[at < 0 ? 'west' : 'east'](this.#degrees(at)),
        classes.longitude,
      );
    }
  }

  #degrees(at: number): string {
    return `${formatNumber(Math.abs(at), this.#tag, 4)}°`;
  }

  #line(ends: L.LatLngTuple[]): void {
    this.addLayer(L.polyline(ends, { className: classes.grid ?? '', weight: 1, interactive: false }));
  }

  #label(place: L.LatLngTuple, text: string, className: string | undefined): void {
    const element = document.createElement('span');
    element.textContent = text;
    const icon = L.divIcon({ className: `${classes.degrees} ${className}`, html: element, iconSize: [0, 0] });
    this.addLayer(L.marker(place, { icon, interactive: false, keyboard: false }));
  }
}

function stepAt(map: L.Map): number {
  const pixelsPerDegree = (256 * 2 ** map.getZoom()) / 360;
  const wide = stepsDegrees.filter((step) => step * pixelsPerDegree >= gapPixelsMin);
  return wide.at(-1) ?? stepsDegrees[0] ?? 60;
}

export function graticule(words: DegreeWords, tag: string): L.Layer {
  return new Graticule(words, tag);
}
