import type { Strings } from '../catalogue.ts';
import { countedInSpanish } from '../plural.ts';

export const nodes: Strings['nodes'] = {
  title: 'Servidores',
  count: (count) => countedInSpanish(count, 'servidor', 'servidores'),
  silentCount: (count) => `${count.toLocaleString('es-ES')} sin señales`,
  list: 'Servidores',
  empty: 'No hay ningún servidor a la vista.',
  emptyWords: 'Cada uno da noticia de sí cada segundo.',
  server: 'Servidor',
  state: 'Estado',
  alive: 'vivo',
  silent: 'callado, última señal',
  answering: 'le responde',
  release: (release) => `Versión ${release}`,
  releaseName: 'Versión',
  machine: 'Máquina',
  started: 'Iniciado',
  behind: 'Retraso',
  upToDate: 'al día',
  datapoints: (count) => countedInSpanish(count, 'medida', 'medidas'),
  changes: (count) => countedInSpanish(count, 'cambio', 'cambios'),
  work: 'Hace para todos',
  works: {
    rules: 'evalúa las notificaciones',
    outbox: 'envía los mensajes',
    alarms: 'vigila los silencios',
    retention: 'borra lo demasiado antiguo',
    sealing: 'comprime las medidas',
    edits: 'quita y corrige valores',
  },
  noWork: 'nada, está en reserva',
  connections: 'Conexiones',
  http: (count) => `${count.toLocaleString('es-ES')} HTTP`,
  mqtt: (count) => `${count.toLocaleString('es-ES')} MQTT`,
  rate: 'Medidas',
  perSecond: (rate) => `${rate.toLocaleString('es-ES', { maximumSignificantDigits: 3 })} por segundo`,
  untold: 'aún no se sabe',
  alone:
    'Un solo servidor usa la base de datos. Otro que se inicie con el mismo DUNDUN_DATABASE_URL aparece aquí por sí solo.',
  several:
    'Un servidor que no da señales de vida durante unos segundos se declara muerto: sale de esta lista y los demás asumen su trabajo.',
  one: 'Este servicio funciona en un solo servidor.',
  oneWords: 'Está bien así: guarda sus datos en una carpeta, que usa un servidor a la vez.',
  beyond:
    'Cuando una máquina se queda pequeña, o su pérdida no debe detener el servicio, los datos pasan a PostgreSQL y varios servidores los comparten. Cómo se hace, y qué hace falta, está en',
};
