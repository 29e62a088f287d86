import type { Strings } from '../catalogue.ts';

export const ownAccount: Strings['ownAccount'] = {
  everything: 'Tout ce que vous avez',
  everythingWords:
    'Un seul fichier ZIP avec votre profil, vos appareils, passerelles, projets, notifications, messages et partages en JSON, et toutes les mesures de vos appareils en CSV. Ni mots de passe ni clés.',
  download: 'Télécharger tout ce que vous avez',
  soFar: (size) => `${size} jusqu’ici …`,
  saved: (file) => `${file} est enregistré.`,
  remove: 'Supprimer mon compte',
  removeWords: 'Téléchargez d’abord ce que vous avez, si vous pouvez en avoir besoin plus tard.',
  removeOpen: 'Supprimer mon compte …',
  removeQuestion: 'Supprimer votre compte ?',
  goes: 'Disparaissent avec lui, aussitôt et définitivement :',
  goesSignIns: 'vos connexions partout, vos clés d’API et vos connexions MQTT',
  goesRules: 'vos notifications, messages et projets',
  goesShares: 'ce que vous partagez avec d’autres, et ce que d’autres partagent avec vous',
  noWayBack: 'Personne ne peut le rétablir, pas même un administrateur.',
  owns: (what) => `Vous possédez ${what}. Que doivent-ils devenir ?`,
  next: 'Continuer',
  lastWords: 'Votre mot de passe, et le compte n’existe plus.',
  lastWordsDelete: (what) => `Votre compte est supprimé, et ${what} avec toutes les mesures.`,
  lastWordsTransfer: (what, to) => `Votre compte est supprimé ; ${to} reçoit ${what} avec toutes les mesures.`,
  passwordMissing: 'Saisissez votre mot de passe.',
  removed: 'Votre compte n’existe plus.',
};
