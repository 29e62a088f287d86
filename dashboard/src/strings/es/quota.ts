import type { Strings } from '../catalogue.ts';

export const quota: Strings['quota'] = {
  title: 'Almacenamiento y límites',
  ownWords: 'Lo que tiene, y cuánto puede tener. Un administrador puede subir un límite.',
  userWords: (name) => `Lo que tiene ${name}, y cuánto puede tener.`,
  adminWords: 'Los administradores no tienen límites.',
  kinds: {
    devices: 'Dispositivos',
    sensors: 'Sensores',
    gateways: 'Pasarelas',
    projects: 'Proyectos',
    rules: 'Notificaciones',
    keys: 'Claves de API',
    description_bytes: 'Descripciones',
    datapoint_bytes: 'Medidas',
    datapoints_per_day: 'Medidas de hoy',
    mqtt_sessions: 'Sesiones MQTT',
    mqtt_session_bytes: 'Colas MQTT',
    retained_bytes: 'Mensajes retenidos',
  },
  of: (used, limit) => `${used} de ${limit}`,
  change: 'Cambiar límites …',
  changeOf: (name) => `Límites de ${name}`,
  limitWords:
    'Un campo vacío deja el valor por defecto, que muestra. «none» es sin límite. Los tamaños se escriben como 500MiB o 20GiB.',
  limitMeans: 'Un número entero, un tamaño como 500MiB para lo que se cuenta en bytes, o «none».',
  saved: 'Los límites valen desde ahora.',
};
