import type { Strings } from '../catalogue.ts';

export const firstRun: Strings['firstRun'] = {
  title: 'Recevez la première valeur',
  words: 'Il n’y a pas encore d’appareil. Trois façons de commencer ; la première prend une minute.',
  pushTitle: 'Envoyer une valeur maintenant',
  pushWords: 'Collez ceci dans un terminal : un appareil est créé et une valeur envoyée.',
  pushAsGuest: 'Sans compte, l’appareil appartient à guest et il est public.',
  waiting: 'En attente de la première valeur …',
  arrived: 'Elle est arrivée.',
  open: (name) => `Ouvrir ${name}`,
  gatewayTitle: 'Connecter une passerelle',
  gatewayWords: 'Donnez cette adresse et un compte à votre passerelle. Elle crée elle-même ses appareils.',
  address: 'Adresse',
  mqtt: 'MQTT',
  account: 'Compte',
  accountGuest: 'aucun (public), ou connectez-vous',
  importTitle: 'Importer un fichier CSV',
  importWords:
    'Un historique venu d’ailleurs : choisissez un fichier, dites quelle colonne est quoi, vérifiez, importez.',
  importOpen: 'Choisir un fichier',
  byHand: 'Créer un appareil à la main',
};
