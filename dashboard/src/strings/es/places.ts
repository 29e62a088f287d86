import type { Strings } from '../catalogue.ts';
import { countedInSpanish } from '../plural.ts';

export const places: Strings['places'] = {
  title: 'Mapa',
  empty: 'Ningún dispositivo tiene todavía una posición.',
  emptyWords: 'Fíjela en la página de un dispositivo, o deje que él envíe su lugar.',
  toDevices: 'A los dispositivos',
  legend: 'Qué dicen los colores',
  count: (shown, total) =>
    shown < total
      ? `${countedInSpanish(shown, 'dispositivo', 'dispositivos')} de ${total} con posición`
      : `${countedInSpanish(shown, 'dispositivo', 'dispositivos')} con posición`,
  showOrHide: 'Mostrar u omitir',
};
