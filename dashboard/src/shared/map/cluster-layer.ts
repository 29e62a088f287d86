// Markers of a map that stand too close together as one with their number, coloured by the worst of them. Only what is in
// view and around it is drawn, so that thousands of markers cost what some dozens do. Used by map-view.tsx.
import L from 'leaflet';
import { limits } from '../../limits.ts';
import type { Freshness } from '../device/freshness.ts';
import type { MapMarker } from './map-marker.ts';
import classes from './map-view.module.css';

/** Side of the square within which markers become one. */
const cellPixels = 56;
/** From here on every marker stands for itself. */
const zoomApart = 17;

interface ClusterParts {
  readonly markers: readonly MapMarker[];
  readonly toMarker: (marker: MapMarker) => L.Marker;
  /** What a group of so many is called. */
  readonly nameGroup: (count: number) => string;
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
    const groups = Map.groupBy(inView, (marker) => (zoom >= zoomApart ? marker.id : cellOf(map, marker, zoom)));
    const isNamed = groups.size === inView.length && groups.size <= limits.mapNamesMax;
    for (const group of groups.values()) {
      const layer = this.#layerOf(map, group);
      if (isNamed) nameMarker(layer, group[0]?.name);
      this.addLayer(layer);
    }
  }

  #layerOf(map: L.Map, group: readonly MapMarker[]): L.Marker {
    const [first] = group as [MapMarker];
    if (group.length === 1) return this.#parts.toMarker(first);
    const bounds = L.latLngBounds(group.map(({ latitude, longitude }) => [latitude, longitude]));
    const count = document.createElement('span');
    count.textContent = String(group.length);
    const className = `${classes.cluster} ${classes[worst(group)]}`;
    const size = group.length > 99 ? 44 : 36;
    const icon = L.divIcon({ className, html: count, iconSize: [size, size] });
    const marker = L.marker(bounds.getCenter(), { icon, title: this.#parts.nameGroup(group.length) });
    return onPress(marker, () => map.fitBounds(bounds, { padding: [60, 60], maxZoom: zoomApart }));
  }
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

function cellOf(map: L.Map, { latitude, longitude }: MapMarker, zoom: number): string {
  const { x, y } = map.project([latitude, longitude], zoom);
  return `${Math.floor(x / cellPixels)} ${Math.floor(y / cellPixels)}`;
}

const order: readonly Freshness[] = ['silent', 'late', 'fresh', 'never'];

function worst(group: readonly MapMarker[]): Freshness {
  return order.find((state) => group.some((marker) => marker.state === state)) ?? 'never';
}
