import type { Strings } from '../catalogue.ts';

export const signIns: Strings['signIns'] = {
  title: 'Kuingia',
  list: 'Orodha ya kuingia',
  ownWords: 'Vivinjari vilivyoingia kama wewe. Kila kimoja hubaki siku 14 baada ya kutumika mwisho.',
  wordsOf: (name) => `Vivinjari vilivyoingia kama ${name}.`,
  none: 'Hakuna kivinjari kilichoingia.',
  current: 'Kivinjari hiki',
  browserOn: (browser, system) => `${browser} kwenye ${system}`,
  unknown: 'Kivinjari kisichojulikana',
  begun: 'Kiliingia',
  used: 'kilitumika mwisho',
  from: (address) => `kutoka ${address}`,
  signOut: 'Toa',
  signOutOf: (browser) => `Toa: ${browser}`,
  signedOut: (browser) => `${browser} kimetolewa.`,
  everywhere: 'Toka kila mahali',
  everywhereQuestion: 'Utoke kila mahali?',
  everywhereWords:
    'Kila kivinjari kwenye orodha hutolewa mara moja, hata hiki; unaingia tena kwa nenosiri lako. Funguo za API, na programu zinazoingia kwa nenosiri lako, huendelea.',
  end: 'Maliza',
  endOf: (browser) => `Maliza kuingia: ${browser}`,
  endAll: 'Maliza zote',
  endAllOf: (name) => `Maliza kuingia kote kwa ${name}`,
  endAllQuestion: (name) => `Umalize kuingia kote kwa ${name}?`,
  endAllWords: (name) =>
    `Kila kivinjari kilichoingia kama ${name} hutolewa mara moja. Funguo za API, na programu zinazoingia kwa nenosiri, huendelea.`,
  endedAll: (name) => `Kuingia kote kwa ${name} kumeisha.`,
  keysTitle: 'Funguo za API',
  keysWords: (name) => `Kinachoruhusu programu na malango kuingia kama ${name}. Funguo zenyewe haziwezi kusomwa.`,
  keysNone: 'Hakuna ufunguo.',
  revokeAll: 'Batilisha zote',
  revokeAllOf: (name) => `Batilisha funguo zote za ${name}`,
  revokeAllQuestion: (name) => `Ubatilishe funguo zote za ${name}?`,
  revokeAllWords:
    'Chochote kinachotumia mojawapo hukataliwa mara moja, na miunganisho yake ya MQTT hukatwa. Funguo hazirudi.',
  revokedAll: (name) => `Funguo zote za ${name} zimebatilishwa.`,
};
