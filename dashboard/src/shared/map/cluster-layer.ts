// Markers of a map that stand too close together as one with their number and a ring of the shares of their states. Only
// what is in view and around it is drawn, so that thousands of markers cost what some dozens do. Used by map-view.tsx.
import L from 'leaflet';
import { limits } from '../../limits.ts';
import type { Freshness } from '../device/freshness.ts';
import { groupMarkers, type MarkerGroup, sizeOf, spread } from './cluster-groups.ts';
import type { MapMarker } from './map-marker.ts';
import classes from './map-view.module.css';

/** From here on every marker stands for itself. */
const zoomApart = 17;

interface ClusterParts {
  readonly markers: readonly MapMarker[];
  readonly toMarker: (marker: MapMarker) => L.Marker;
  /** What a group of so many is called, with how many of each state. */
  readonly nameGroup: (count: number, states: readonly StateCount[]) => string;
}

export interface StateCount {
  readonly state: Freshness;
  readonly count: number;
}

export class ClusterLayer extends L.LayerGroup {
  readonly #parts: ClusterParts;
  #drawn: { readonly bounds: L.LatLngBounds; readonly zoom: number } | undefined;

  constructor(parts: ClusterParts) {
    super();
    this.#parts = parts;
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
    if (map === undefined || map.getZoom() === undefined) return;
    const zoom = map.getZoom();
    if (this.#drawn?.zoom === zoom && this.#drawn.bounds.contains(map.getBounds())) return;
    const bounds = map.getBounds().pad(1);
    this.#drawn = { bounds, zoom };
    this.clearLayers();
    const inView = this.#parts.markers.filter(({ latitude, longitude }) => bounds.contains([latitude, longitude]));
    const groups = groupMarkers(inView, ({ latitude, longitude }) => map.project([latitude, longitude], zoom));
    const isNamed = groups.length === inView.length && groups.length <= limits.mapNamesMax;
    for (const group of groups) {
      if (group.markers.length > 1 && zoom < zoomApart) this.addLayer(this.#groupLayer(map, group));
      else {
        for (const { marker, x, y } of spread(group)) {
          const { lat: latitude, lng: longitude } = map.unproject([x, y], zoom);
          const layer = this.#parts.toMarker(group.markers.length === 1 ? marker : { ...marker, latitude, longitude });
          if (isNamed) nameMarker(layer, marker.name);
          this.addLayer(layer);
        }
      }
    }
  }

  #groupLayer(map: L.Map, { markers, x, y }: MarkerGroup): L.Marker {
    const bounds = L.latLngBounds(markers.map(({ latitude, longitude }) => [latitude, longitude]));
    const states = countStates(markers);
    const ring = document.createElement('div');
    ring.className = classes.ring ?? '';
    ring.style.background = ringOf(states, markers.length);
    const count = document.createElement('span');
    count.textContent = String(markers.length);
    ring.append(count);
    const size = sizeOf(markers.length);
    const icon = L.divIcon({ className: classes.cluster ?? '', html: ring, iconSize: [size, size] });
    const title = this.#parts.nameGroup(markers.length, states);
    const marker = L.marker(map.unproject([x, y], map.getZoom()), { icon, title, alt: title });
    return onPress(marker, () => map.fitBounds(bounds, { padding: [60, 60], maxZoom: zoomApart }));
  }
}

const order: readonly Freshness[] = ['fresh', 'late', 'silent', 'never'];
const colors: Readonly<Record<Freshness, string>> = {
  fresh: 'var(--d-good)',
  late: 'color-mix(in srgb, var(--d-bad) 40%, var(--d-ground))',
  silent: 'var(--d-bad)',
  never: 'var(--d-quiet)',
};

function countStates(markers: readonly MapMarker[]): readonly StateCount[] {
  return order
    .map((state) => ({ state, count: markers.filter((marker) => (marker.state ?? 'never') === state).length }))
    .filter(({ count }) => count > 0);
}

/** From the top on, as much of the way around as there are of each state. */
function ringOf(states: readonly StateCount[], total: number): string {
  let before = 0;
  const parts = states.map(({ state, count }) => {
    const from = before;
    before += count / total;
    return `${colors[state]} ${(from * 360).toFixed(1)}deg ${(before * 360).toFixed(1)}deg`;
  });
  return `conic-gradient(${parts.join(', ')})`;
}

/** A name beside a marker, as text. */
function nameMarker(marker: L.Marker, name: string | undefined): void {
  if (name === undefined) return;
  const text = document.createElement('span');
  text.textContent = name;
  const className = classes.named ?? '';
  marker.bindTooltip(text, { permanent: true, direction: 'right', offset: [8, 0], className });
}

/** By a click, or by Enter, which Leaflet makes no click of. */
export function onPress(marker: L.Marker, act: () => void): L.Marker {
  marker.on('click', act);
  marker.on('keypress', (event) => {
    if ((event as L.LeafletKeyboardEvent).originalEvent.key === 'Enter') act();
  });
  return marker;
}
