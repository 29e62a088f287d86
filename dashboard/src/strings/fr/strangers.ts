import type { Strings } from '../catalogue.ts';

export const strangers: Strings['strangers'] = {
  title: 'Que peuvent faire les inconnus ?',
  words: 'Un inconnu est quiconque atteint cette adresse sans être connecté. Les appareils sans compte en sont aussi.',
  full: 'Lire, envoyer et modifier',
  fullMeans:
    'Ils créent des appareils, envoient des valeurs, lisent ce qui est public, et modifient ou suppriment ce qui n’a pas de propriétaire. Convient à un réseau privé.',
  push: 'Lire et envoyer',
  pushMeans: 'Ils créent des appareils, envoient des valeurs et lisent ce qui est public, sans rien modifier.',
  none: 'Rien',
  noneMeans:
    'Qui ne se connecte pas est refusé ; chaque appareil a besoin d’un compte ou d’une clé. Convient à Internet.',
  save: 'Retenir ce choix',
  saved: 'C’est retenu. Vous le retrouvez dans votre profil, sous « Accès et apparence ».',
  fixed: 'L’opérateur l’a fixé par DUNDUN_GUEST_ACCESS ; c’est là que cela se change.',
};
