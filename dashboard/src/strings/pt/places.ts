import type { Strings } from '../catalogue.ts';
import { countedInPortuguese } from '../plural.ts';

export const places: Strings['places'] = {
  title: 'Mapa',
  empty: 'Ainda nenhum dispositivo tem posição.',
  emptyWords: 'Defina-a na página de um dispositivo, ou deixe que ele envie o seu lugar.',
  toDevices: 'Para os dispositivos',
  legend: 'O que dizem as cores',
  count: (shown, total) =>
    shown < total
      ? `${countedInPortuguese(shown, 'dispositivo', 'dispositivos')} de ${total} com posição`
      : `${countedInPortuguese(shown, 'dispositivo', 'dispositivos')} com posição`,
  showOrHide: 'Mostrar ou omitir',
};
