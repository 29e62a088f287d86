import type { Strings } from '../catalogue.ts';

export const quota: Strings['quota'] = {
  title: 'Hifadhi na vikomo',
  ownWords: 'Ulicho nacho, na kiasi unachoruhusiwa. Msimamizi anaweza kuongeza kikomo.',
  userWords: (name) => `Alicho nacho ${name}, na kiasi anachoruhusiwa.`,
  adminWords: 'Wasimamizi hawana vikomo.',
  kinds: {
    devices: 'Vifaa',
    sensors: 'Vihisi',
    gateways: 'Malango',
    projects: 'Miradi',
    rules: 'Arifa',
    keys: 'Funguo za API',
    description_bytes: 'Maelezo',
    datapoint_bytes: 'Vipimo',
    datapoints_per_day: 'Vipimo vya leo',
    mqtt_sessions: 'Vikao vya MQTT',
    mqtt_session_bytes: 'Foleni za MQTT',
    retained_bytes: 'Jumbe zilizohifadhiwa',
  },
  of: (used, limit) => `${used} kati ya ${limit}`,
  change: 'Badilisha vikomo …',
  changeOf: (name) => `Vikomo vya ${name}`,
  limitWords:
    'Sehemu tupu huacha chaguo-msingi, ambalo huonyesha. “none” ni bila kikomo. Ukubwa unaweza kuandikwa kama 500MiB au 20GiB.',
  limitMeans: 'Nambari kamili, ukubwa kama 500MiB kwa kinachohesabiwa kwa baiti, au “none”.',
  saved: 'Vikomo vinatumika kuanzia sasa.',
};
