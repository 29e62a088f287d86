import type { Strings } from '../catalogue.ts';

export const quota: Strings['quota'] = {
  title: 'Armazenamento e limites',
  ownWords: 'O que tem, e quanto pode ter. Um administrador pode subir um limite.',
  userWords: (name) => `O que ${name} tem, e quanto pode ter.`,
  adminWords: 'Os administradores não têm limites.',
  kinds: {
    devices: 'Dispositivos',
    sensors: 'Sensores',
    gateways: 'Gateways',
    projects: 'Projetos',
    rules: 'Notificações',
    keys: 'Chaves de API',
    description_bytes: 'Descrições',
    datapoint_bytes: 'Medições',
    datapoints_per_day: 'Medições de hoje',
    mqtt_sessions: 'Sessões MQTT',
    mqtt_session_bytes: 'Filas MQTT',
    retained_bytes: 'Mensagens retidas',
  },
  of: (used, limit) => `${used} de ${limit}`,
  change: 'Alterar limites …',
  changeOf: (name) => `Limites de ${name}`,
  limitWords:
    'Um campo vazio mantém o valor por omissão, que mostra. «none» é sem limite. Os tamanhos escrevem-se como 500MiB ou 20GiB.',
  limitMeans: 'Um número inteiro, um tamanho como 500MiB para o que se conta em bytes, ou «none».',
  saved: 'Os limites valem a partir de agora.',
};
