// A map by Leaflet: markers coloured by state, one with a number where they stand close together, one that may be
// dragged, a ground that may be pressed.
// With a tile setting of the server the tiles come from there; without, a plain graticule with coordinates stands in and no
// other host is asked. Leaflet is loaded with the pages that show maps; import this file from such a page only.
import { useQuery } from '@tanstack/react-query';
import L from 'leaflet';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import 'leaflet/dist/leaflet.css';
import { factsQuery } from '../../api/facts.ts';
import { isOnEarth } from '../../api/places.ts';
import { listed } from '../../strings/listed.ts';
import { useLocale } from '../../strings/strings.ts';
import { type ColorTokens, useColorTokens } from '../chart/color-tokens.ts';
import { freshnessWords } from '../device/state-dot.tsx';
import { toasts } from '../page/toasts.tsx';
import { askPosition, type OwnPosition } from './ask-position.ts';
import { ClusterLayer, onPress, type StateCount } from './cluster-layer.ts';
import { graticule } from './graticule.ts';
import type { MapMarker } from './map-marker.ts';
import classes from './map-view.module.css';
import { positionControl, positionLayer } from './own-position.ts';

export interface MapViewProps {
  readonly markers: readonly MapMarker[];
  readonly height?: number | string;
  readonly onOpen?: (id: string) => void;
  /** What a press on a marker shows over it. */
  readonly renderPopup?: (id: string) => ReactNode;
  /** Where given, markers can be dragged, and this hears where to. */
  readonly onMove?: (id: string, place: MapPlace) => void;
  /** Where given, the ground can be pressed, and this hears where; so it does of one's own position. */
  readonly onPick?: ((place: MapPlace) => void) | undefined;
  /** Where given, the view moves to the markers when this changes; else when there are others. */
  readonly fitBy?: string | undefined;
}

interface MapPlace {
  readonly latitude: number;
  readonly longitude: number;
}

interface OpenPopup {
  readonly id: string;
  readonly element: HTMLElement;
  readonly popup: L.Popup;
}

export function MapView(props: MapViewProps) {
  const { height = 360, renderPopup } = props;
  const markers = props.markers.filter(isOnEarth);
  const { strings, tag } = useLocale();
  const { shared } = strings;
  const { data: facts } = useQuery(factsQuery);
  const host = useRef<HTMLDivElement>(null);
  const map = useRef<L.Map>(undefined);
  const [open, setOpen] = useState<OpenPopup>();
  const tokens = useColorTokens();
  const own = useRef<L.Layer>(undefined);
  const nameGroup = useEffectEvent((count: number, states: readonly StateCount[]) => {
    const said = states.map((one) => `${one.count} ${freshnessWords(shared)[one.state]}`);
    return `${shared.markers(count)} (${listed(said)})`;
  });
  const showOwn = useEffectEvent(() =>
    askPosition(
      (place) => {
        if (map.current === undefined) return;
        own.current?.remove();
        own.current = positionLayer(place, shared.ownPosition);
        own.current.addTo(map.current);
        map.current.setView([place.latitude, place.longitude], Math.max(map.current.getZoom(), zoomOfOwn(place)));
        props.onPick?.(placeOf(L.latLng(place.latitude, place.longitude)));
      },
      (fault) => toasts.show({ text: shared.noPosition[fault], isBad: true }),
    ),
  );
  const toMarker = useEffectEvent((marker: MapMarker) =>
    toLeaflet(marker, { ...props, ...(renderPopup === undefined ? {} : { onOpen: () => openPopup(marker) }) }),
  );
  const pick = useEffectEvent((place: MapPlace) => props.onPick?.(place));
  const openPopup = ({ id, latitude, longitude }: MapMarker) => {
    if (map.current === undefined) return;
    const element = document.createElement('div');
    const popup = L.popup({ minWidth: 200, maxWidth: 280, offset: [0, -4] }).setContent(element);
    popup.on('remove', () => setOpen((before) => (before?.popup === popup ? undefined : before)));
    popup.setLatLng([latitude, longitude]).openOn(map.current);
    setOpen({ id, element, popup });
  };

  useEffect(() => {
    if (host.current === null || facts === undefined) return;
    const hasTiles = facts.tiles !== undefined;
    const made = L.map(host.current, {
      ...{ zoomControl: false, attributionControl: hasTiles, fadeAnimation: false },
      ...{ maxBounds: world, maxBoundsViscosity: 1 },
    });
    boundZoom(made);
    made.on('resize', () => boundZoom(made));
    L.control.zoom({ position: 'topright', zoomInTitle: shared.zoomIn, zoomOutTitle: shared.zoomOut }).addTo(made);
    positionControl(shared.useOwnPosition, () => showOwn()).addTo(made);
    made.attributionControl?.setPrefix(false);
    const { tiles } = facts;
    const ground =
      tiles === undefined
        ? graticule(shared.degrees, tag)
        : L.tileLayer(tiles.url, { attribution: textOnly(tiles.attribution), noWrap: true });
    ground.addTo(made);
    made.setView([15, 0], 3);
    // Without them the lines of latitude stand alone, which are enough to go on.
    if (!hasTiles) void addCoasts(made, tokens).catch(() => undefined);
    made.on('click', ({ latlng }) => pick(placeOf(latlng)));
    map.current = made;
    return () => {
      made.remove();
      map.current = undefined;
      setOpen(undefined);
    };
  }, [facts, shared, tag, tokens]);

  const places = JSON.stringify(markers);
  // What is looked at stays as it is when values come; only other places move it.
  const fitBy = props.fitBy ?? JSON.stringify(markers.map(({ id }) => id));
  const isMade = facts !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a map made anew needs its view once more.
  useEffect(() => {
    if (!isMade || map.current === undefined || markers.length === 0) return;
    const bounds = L.latLngBounds(markers.map(({ latitude, longitude }) => [latitude, longitude]));
    map.current.fitBounds(bounds, { padding: [40, 40], maxZoom: 14, animate: false });
  }, [fitBy, isMade, shared, tokens]);

  const isMovable = props.onMove !== undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a map made anew needs its markers once more.
  useEffect(() => {
    if (!isMade || map.current === undefined) return;
    const list = JSON.parse(places) as MapMarker[];
    const layer = isMovable
      ? L.layerGroup(list.map((marker) => toMarker(marker)))
      : new ClusterLayer({
          markers: list,
          toMarker: (marker) => toMarker(marker),
          nameGroup: (count, states) => nameGroup(count, states),
        });
    layer.addTo(map.current);
    if (isMovable) keepInView(map.current, list);
    return () => void layer.remove();
  }, [places, isMade, isMovable, shared, tokens]);

  useEffect(() => {
    open?.popup.update();
  }, [open]);

  return (
    <>
      <section ref={host} className={classes.map} style={{ height }} aria-label={shared.map} />
      {open !== undefined && createPortal(renderPopup?.(open.id), open.element)}
    </>
  );
}

/** All of it once: the projection ends beside the poles. */
const world: L.LatLngBoundsLiteral = [
  [-85.06, -180],
  [85.06, 180],
];

/** Out to where all of the world is seen, and not to where it is a stamp on an empty sheet. */
function boundZoom(map: L.Map): void {
  const { x, y } = map.getSize();
  map.setMinZoom(Math.max(0, Math.floor(Math.log2(Math.max(x, y) / 256))));
}

/** Closer by, lines that are four kilometres exact would say that a field lies in another country. */
const coastZoomMax = 9;

/** They come after the markers, and lie under them. */
async function addCoasts(map: L.Map, { ground, line, quiet }: ColorTokens): Promise<void> {
  const { coastLayer } = await import('./coastlines.ts');
  // The page may have been left meanwhile.
  if (map.getPane('mapPane') === undefined) return;
  map.createPane('coasts').style.zIndex = '250';
  const coasts = coastLayer({ land: ground, coast: quiet, border: line }, 'coasts');
  const show = () => {
    if (map.getZoom() <= coastZoomMax) coasts.addTo(map);
    else coasts.remove();
  };
  map.on('zoomend', show);
  show();
  map.getContainer().dataset['coasts'] = 'drawn';
}

/** So close that what is around is to be seen, but no closer than it is known. */
function zoomOfOwn({ accuracyMetres }: OwnPosition): number {
  return accuracyMetres > 5_000 ? 9 : accuracyMetres > 500 ? 12 : 15;
}

/** A marker whose place was typed may have gone out of the view; one that was dragged has not. */
function keepInView(map: L.Map, markers: readonly MapMarker[]): void {
  const [marker] = markers;
  if (marker === undefined || map.getBounds().contains([marker.latitude, marker.longitude])) return;
  map.setView([marker.latitude, marker.longitude], map.getZoom(), { animate: false });
}

interface MarkerActs {
  readonly onOpen?: (id: string) => void;
  readonly onMove?: MapViewProps['onMove'];
}

function toLeaflet({ id, latitude, longitude, label, state = 'never' }: MapMarker, acts: MarkerActs): L.Marker {
  const { onMove, onOpen } = acts;
  const icon = L.divIcon({ className: `${classes.marker} ${classes[state]}`, iconSize: [16, 16], html: '' });
  const marker = L.marker([latitude, longitude], { icon, alt: label, title: label, draggable: onMove !== undefined });
  if (onOpen !== undefined) onPress(marker, () => onOpen(id));
  if (onMove !== undefined) {
    marker.on('dragend', () => onMove(id, placeOf(marker.getLatLng())));
  }
  return marker;
}

/** To a tenth of a metre. */
function placeOf(point: L.LatLng): MapPlace {
  const { lat, lng } = point.wrap();
  return { latitude: Number(lat.toFixed(6)), longitude: Number(lng.toFixed(6)) };
}

/** Leaflet takes the attribution for HTML. */
function textOnly(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
