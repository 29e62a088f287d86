import type { Strings } from '../catalogue.ts';

export const quota: Strings['quota'] = {
  title: 'Stockage et limites',
  ownWords: 'Ce que vous avez, et combien vous pouvez en avoir. Un admin peut relever une limite.',
  userWords: (name) => `Ce que ${name} a, et combien il est possible d’en avoir.`,
  adminWords: 'Les admins n’ont pas de limites.',
  kinds: {
    devices: 'Appareils',
    sensors: 'Capteurs',
    gateways: 'Passerelles',
    projects: 'Projets',
    rules: 'Notifications',
    keys: 'Clés d’API',
    description_bytes: 'Descriptions',
    datapoint_bytes: 'Mesures',
    datapoints_per_day: 'Mesures aujourd’hui',
    mqtt_sessions: 'Sessions MQTT',
    mqtt_session_bytes: 'Files MQTT',
    retained_bytes: 'Messages retenus',
  },
  of: (used, limit) => `${used} sur ${limit}`,
  change: 'Changer les limites …',
  changeOf: (name) => `Limites de ${name}`,
  limitWords:
    'Un champ vide garde la valeur par défaut, qu’il montre. « none » : pas de limite. Les tailles s’écrivent 500MiB ou 20GiB.',
  limitMeans: 'Un nombre entier, une taille comme 500MiB pour ce qui se compte en octets, ou « none ».',
  saved: 'Les limites valent dès maintenant.',
};
