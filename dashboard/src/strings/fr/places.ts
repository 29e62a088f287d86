import type { Strings } from '../catalogue.ts';
import { countedInFrench } from '../plural.ts';

export const places: Strings['places'] = {
  title: 'Carte',
  empty: 'Aucun appareil n’a encore de position.',
  emptyWords: 'Donnez-en une sur la page d’un appareil, ou laissez-le envoyer la sienne.',
  toDevices: 'Vers les appareils',
  legend: 'Ce que disent les couleurs',
  count: (shown, total) =>
    shown < total
      ? `${countedInFrench(shown, 'appareil', 'appareils')} sur ${total} avec une position`
      : `${countedInFrench(shown, 'appareil', 'appareils')} avec une position`,
  showOrHide: 'Montrer ou laisser de côté',
};
