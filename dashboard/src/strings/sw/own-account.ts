import type { Strings } from '../catalogue.ts';

export const ownAccount: Strings['ownAccount'] = {
  everything: 'Kila ulicho nacho',
  everythingWords:
    'Faili moja la ZIP lenye wasifu wako, vifaa, malango, miradi, arifa, jumbe na ushirikishaji kama JSON, na thamani zote za vifaa vyako kama CSV. Bila manenosiri wala funguo.',
  download: 'Pakua kila ulicho nacho',
  soFar: (size) => `${size} hadi sasa …`,
  saved: (file) => `${file} limehifadhiwa.`,
  remove: 'Ondoa akaunti yangu',
  removeWords: 'Pakua ulicho nacho kabla, kama utakihitaji baadaye.',
  removeOpen: 'Ondoa akaunti yangu …',
  removeQuestion: 'Uondoe akaunti yako?',
  goes: 'Pamoja nayo huondoka, mara moja na kabisa:',
  goesSignIns: 'kuingia kwako kila mahali, funguo zako za API na miunganisho ya MQTT',
  goesRules: 'arifa zako, jumbe na miradi',
  goesShares: 'unachoshiriki na wengine, na wanachoshiriki nawe',
  noWayBack: 'Hakuna anayeweza kuirudisha, hata msimamizi.',
  owns: (what) => `Unamiliki ${what}. Vifanyweje?`,
  next: 'Endelea',
  lastWords: 'Nenosiri lako, na akaunti imeondoka.',
  lastWordsDelete: (what) => `Akaunti yako inaondolewa, na ${what} pamoja na thamani zote.`,
  lastWordsTransfer: (what, to) => `Akaunti yako inaondolewa; ${to} anapata ${what} pamoja na thamani zote.`,
  passwordMissing: 'Andika nenosiri lako.',
  removed: 'Akaunti yako imeondoka.',
};
