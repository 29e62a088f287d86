import type { Strings } from '../catalogue.ts';

export const received: Strings['received'] = {
  title: 'Confié à vous',
  words:
    'Des appareils que d’autres vous ont donnés. Leurs partages ont pris fin ; jusqu’au moment indiqué vous pouvez les rétablir, ou rendre un appareil.',
  list: 'Appareils confiés à vous',
  from: (name) => `de ${name}`,
  fromNobody: 'de quelqu’un qui n’est plus utilisateur',
  until: 'à décider',
  shares: (names) => `Était partagé avec ${names}`,
  noShares: 'N’était partagé avec personne',
  keep: 'Garder les anciens partages',
  keepOf: (device) => `Garder les anciens partages de ${device}`,
  keepQuestion: (device) => `Partager ${device} comme avant ?`,
  keepWords: (names) =>
    `De nouveau utilisable comme avant par : ${names}. Chaque partage se termine sur la page de l’appareil ; le rendre ici ne sera plus possible.`,
  kept: (device) => `${device} est partagé comme avant.`,
  giveBack: 'Rendre',
  giveBackOf: (device) => `Rendre ${device}`,
  giveBackQuestion: (device) => `Rendre ${device} ?`,
  giveBackWords: (name) =>
    `Il appartient de nouveau à ${name} aussitôt, avec les partages qu’il avait. Vous ne le verrez ensuite que s’il est partagé avec vous ou public.`,
  givenBack: (device, name) => `${device} appartient de nouveau à ${name}.`,
};
