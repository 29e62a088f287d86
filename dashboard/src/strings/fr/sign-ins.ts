import type { Strings } from '../catalogue.ts';

export const signIns: Strings['signIns'] = {
  title: 'Connexions',
  list: 'Liste des connexions',
  ownWords: 'Les navigateurs connectés à votre compte. Chacun reste connecté 14 jours après son dernier usage.',
  wordsOf: (name) => `Les navigateurs connectés au compte de ${name}.`,
  none: 'Aucun navigateur n’est connecté.',
  current: 'Ce navigateur',
  browserOn: (browser, system) => `${browser} sous ${system}`,
  unknown: 'Navigateur inconnu',
  begun: 'Connecté',
  used: 'dernier usage',
  from: (address) => `depuis ${address}`,
  signOut: 'Se déconnecter',
  signOutOf: (browser) => `Se déconnecter : ${browser}`,
  signedOut: (browser) => `${browser} est déconnecté.`,
  everywhere: 'Se déconnecter partout',
  everywhereQuestion: 'Se déconnecter partout ?',
  everywhereWords:
    'Chaque navigateur de la liste est déconnecté aussitôt, celui-ci aussi ; vous vous reconnecterez avec votre mot de passe. Les clés d’API, et les programmes qui se connectent avec votre mot de passe, continuent.',
  end: 'Terminer',
  endOf: (browser) => `Terminer la connexion : ${browser}`,
  endAll: 'Tout terminer',
  endAllOf: (name) => `Tout terminer : connexions de ${name}`,
  endAllQuestion: (name) => `Terminer toutes les connexions de ${name} ?`,
  endAllWords: (name) =>
    `Chaque navigateur connecté au compte de ${name} est déconnecté aussitôt. Les clés d’API, et les programmes qui se connectent avec le mot de passe, continuent.`,
  endedAll: (name) => `Toutes les connexions de ${name} ont pris fin.`,
  keysTitle: 'Clés d’API',
  keysWords: (name) =>
    `Ce qui laisse entrer programmes et passerelles au nom de ${name}. Les clés elles-mêmes ne peuvent pas être lues.`,
  keysNone: 'Il n’y a pas de clé.',
  revokeAll: 'Tout révoquer',
  revokeAllOf: (name) => `Tout révoquer : clés de ${name}`,
  revokeAllQuestion: (name) => `Révoquer toutes les clés de ${name} ?`,
  revokeAllWords:
    'Tout ce qui utilise l’une d’elles est refusé aussitôt, et ses connexions MQTT sont coupées. Une révocation est définitive.',
  revokedAll: (name) => `Toutes les clés de ${name} sont révoquées.`,
};
