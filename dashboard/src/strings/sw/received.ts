import type { Strings } from '../catalogue.ts';

export const received: Strings['received'] = {
  title: 'Ulivyokabidhiwa',
  words:
    'Vifaa ambavyo wengine wamevifanya vyako. Ushirikishaji vilivyokuwa nao umeisha; hadi wakati uliotajwa unaweza kuurudisha, au kurudisha kifaa.',
  list: 'Vifaa ulivyokabidhiwa',
  from: (name) => `kutoka kwa ${name}`,
  fromNobody: 'kutoka kwa mtu ambaye si mtumiaji tena',
  until: 'uamuzi unasubiriwa',
  shares: (names) => `Kilishirikiwa na ${names}`,
  noShares: 'Hakikushirikiwa na yeyote',
  keep: 'Bakiza ushirikishaji wa awali',
  keepOf: (device) => `Bakiza ushirikishaji wa awali wa ${device}`,
  keepQuestion: (device) => `Ushiriki ${device} kama awali?`,
  keepWords: (names) =>
    `${names} anaweza kukitumia tena kama awali. Unaweza kumaliza kila ushirikishaji kwenye ukurasa wa kifaa; kukirudisha hapa hakutawezekana tena.`,
  kept: (device) => `${device} kinashirikiwa kama awali.`,
  giveBack: 'Kirudishe',
  giveBackOf: (device) => `Kirudishe: ${device}`,
  giveBackQuestion: (device) => `Urudishe ${device}?`,
  giveBackWords: (name) =>
    `Kinakuwa cha ${name} tena mara moja, pamoja na ushirikishaji kilichokuwa nao. Utakiona tu kama kinashirikiwa nawe au ni cha wote.`,
  givenBack: (device, name) => `${device} ni cha ${name} tena.`,
};
