import type { Strings } from '../catalogue.ts';

export const strangers: Strings['strangers'] = {
  title: 'Wageni wanaweza kufanya nini?',
  words: 'Mgeni ni yeyote anayefika kwenye anwani hii bila kuingia. Vifaa visivyo na akaunti ni wageni pia.',
  full: 'Kusoma, kutuma na kubadilisha',
  fullMeans:
    'Huunda vifaa, hutuma thamani, husoma kilicho cha wote, na hubadilisha au kufuta kisicho na mmiliki. Inafaa kwa mtandao wako mwenyewe.',
  push: 'Kusoma na kutuma',
  pushMeans: 'Huunda vifaa, hutuma thamani na husoma kilicho cha wote, na hawabadilishi chochote kilichopo.',
  none: 'Hakuna',
  noneMeans: 'Asiyeingia hukataliwa; kila kifaa kinahitaji akaunti au ufunguo. Inafaa kwa intaneti.',
  save: 'Acha hivi',
  saved: 'Imehifadhiwa. Utaipata tena kwenye wasifu wako, chini ya Kuingia na mwonekano.',
  fixed: 'Mwendeshaji ameliweka kwa DUNDUN_GUEST_ACCESS; hubadilishwa huko.',
};
