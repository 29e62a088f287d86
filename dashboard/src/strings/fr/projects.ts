import type { Strings } from '../catalogue.ts';
import { countedInFrench } from '../plural.ts';

export const projects: Strings['projects'] = {
  title: 'Projets',
  count: (count) => countedInFrench(count, 'projet', 'projets'),
  empty: 'Pas encore de projet.',
  emptyWords:
    'Un projet réunit les appareils que vous regardez ensemble : un champ, un bâtiment, un essai. Il les montre sur un graphique et une carte.',
  emptyNext: 'Créer le premier',
  create: 'Nouveau projet',
  createSubmit: 'Créer le projet',
  edit: 'Modifier le projet',
  editShort: 'Modifier',
  saved: (name) => `${name} est enregistré.`,
  removed: (name) => `${name} est supprimé ; ses appareils restent.`,
  nameExample: 'Oignons du delta',
  nameMissing: 'Donnez-lui un nom.',
  devices: 'Appareils',
  gateways: 'Passerelles',
  map: 'Où ils sont',
  chart: 'Ensemble sur un graphique',
  sensors: 'Capteurs du graphique',
  chooseSensors: 'Choisir des capteurs',
  chartEmpty: 'Pas de valeur dans ce temps. Choisissez d’autres capteurs ou une durée plus longue.',
  holds: (devices, gateways) =>
    `${countedInFrench(devices, 'appareil', 'appareils')}, ${countedInFrench(gateways, 'passerelle', 'passerelles')}`,
  noDevices: 'Ce projet n’a pas encore d’appareil.',
  noDevicesWords: 'Choisissez ceux qui vont ensemble.',
  chooseDevices: 'Choisir des appareils',
};
