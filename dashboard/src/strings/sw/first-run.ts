import type { Strings } from '../catalogue.ts';

export const firstRun: Strings['firstRun'] = {
  title: 'Ingiza thamani ya kwanza',
  words: 'Bado hakuna kifaa. Njia tatu za kuanza; ya kwanza huchukua dakika moja.',
  pushTitle: 'Tuma thamani sasa',
  pushWords: 'Bandika hii kwenye terminali. Huunda kifaa na kutuma thamani moja.',
  pushAsGuest: 'Ikitumwa bila akaunti, kifaa ni mali ya guest na ni cha wote.',
  waiting: 'Inasubiri thamani ya kwanza …',
  arrived: 'Imefika.',
  open: (name) => `Fungua ${name}`,
  gatewayTitle: 'Unganisha lango',
  gatewayWords: 'Lipe lango lako anwani hii na akaunti. Huunda vifaa vyake lenyewe.',
  address: 'Anwani',
  mqtt: 'MQTT',
  account: 'Akaunti',
  accountGuest: 'hakuna (wote), au ingia',
  importTitle: 'Leta faili la CSV',
  importWords: 'Historia kutoka kwingine: chagua faili, sema kila safu ni nini, itazame, kisha ikubali.',
  importOpen: 'Chagua faili',
  byHand: 'Unda kifaa kwa mkono',
};
