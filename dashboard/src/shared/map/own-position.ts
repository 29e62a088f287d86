// The button on a map that asks where one is, and what is drawn there. Used by map-view.tsx.
import L from 'leaflet';
import type { OwnPosition } from './ask-position.ts';
import classes from './map-view.module.css';

const shape =
  'M12 2v3 M12 19v3 M2 12h3 M19 12h3 M12 18a6 6 0 1 0 0-12 6 6 0 0 0 0 12z M12 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3z';

export function positionControl(title: string, onPress: () => void): L.Control {
  const control = new L.Control({ position: 'topright' });
  control.onAdd = () => {
    const bar = L.DomUtil.create('div', 'leaflet-bar leaflet-control');
    const button = L.DomUtil.create('a', '', bar);
    button.href = '#';
    button.title = title;
    button.setAttribute('role', 'button');
    button.setAttribute('aria-label', title);
    const icon = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    for (const [name, value] of Object.entries({
      ...{ width: '16', height: '16', viewBox: '0 0 24 24', fill: 'none', stroke: 'currentColor' },
      ...{ 'stroke-width': '2', 'stroke-linecap': 'round', 'aria-hidden': 'true' },
    }))
      icon.setAttribute(name, value);
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', shape);
    icon.append(path);
    button.append(icon);
    L.DomEvent.disableClickPropagation(bar);
    L.DomEvent.on(button, 'click', (event) => {
      L.DomEvent.preventDefault(event);
      onPress();
    });
    return bar;
  };
  return control;
}

/** Where one is, with how exactly that is known. */
export function positionLayer({ latitude, longitude, accuracyMetres }: OwnPosition, label: string): L.Layer {
  const icon = L.divIcon({ className: classes.here ?? '', iconSize: [14, 14], html: '' });
  return L.layerGroup([
    L.circle([latitude, longitude], { radius: accuracyMetres, weight: 1, fillOpacity: 0.1, interactive: false }),
    L.marker([latitude, longitude], { icon, title: label, alt: label, keyboard: false }),
  ]);
}
