import type { Strings } from '../catalogue.ts';
import { countedInSwahili } from '../plural.ts';

export const nodes: Strings['nodes'] = {
  title: 'Seva',
  count: (count) => countedInSwahili(count, 'seva', 'seva'),
  silentCount: (count) => `${count.toLocaleString('sw-KE')} kimya`,
  list: 'Seva',
  empty: 'Hakuna seva inayoonekana.',
  emptyWords: 'Kila moja hutoa habari zake kila sekunde.',
  server: 'Seva',
  state: 'Hali',
  alive: 'hai',
  silent: 'kimya, ilisikika mwisho',
  answering: 'inakujibu',
  release: (release) => `Toleo ${release}`,
  releaseName: 'Toleo',
  machine: 'Mashine',
  started: 'Ilianza',
  behind: 'Nyuma kwa',
  upToDate: 'iko sawa na zingine',
  datapoints: (count) => countedInSwahili(count, 'kipimo', 'vipimo'),
  changes: (count) => countedInSwahili(count, 'badiliko', 'mabadiliko'),
  work: 'Hufanya kwa wote',
  works: {
    rules: 'hutathmini arifa',
    outbox: 'hutuma jumbe',
    alarms: 'huangalia ukimya',
    retention: 'hufuta yaliyo ya zamani mno',
    sealing: 'hubana vipimo',
    edits: 'huondoa na kusahihisha thamani',
  },
  noWork: 'hakuna, inasubiri',
  connections: 'Miunganisho',
  http: (count) => `HTTP ${count.toLocaleString('sw-KE')}`,
  mqtt: (count) => `MQTT ${count.toLocaleString('sw-KE')}`,
  rate: 'Vipimo',
  perSecond: (rate) => `${rate.toLocaleString('sw-KE', { maximumSignificantDigits: 3 })} kwa sekunde`,
  untold: 'bado haijulikani',
  alone:
    'Seva moja inatumia hifadhidata. Nyingine inayoanzishwa kwa DUNDUN_DATABASE_URL hiyo hiyo itaonekana hapa yenyewe.',
  several:
    'Seva isiyotoa ishara ya uhai kwa sekunde kadhaa hutangazwa kuwa imekufa: huondoka kwenye orodha hii, na zingine huchukua kazi yake.',
  one: 'Huduma hii inaendeshwa na seva moja.',
  oneWords: 'Hilo ni sawa: huhifadhi data zake kwenye folda, ambayo seva moja huitumia kwa wakati mmoja.',
  beyond:
    'Mashine moja inapokuwa ndogo mno, au kupotea kwake kusisimamishe huduma, data huhamia PostgreSQL na seva kadhaa huzitumia pamoja. Jinsi ya kufanya hivyo, na kinachohitajika, kiko katika',
};
