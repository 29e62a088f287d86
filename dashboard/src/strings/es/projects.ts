import type { Strings } from '../catalogue.ts';
import { countedInSpanish } from '../plural.ts';

export const projects: Strings['projects'] = {
  title: 'Proyectos',
  count: (count) => countedInSpanish(count, 'proyecto', 'proyectos'),
  empty: 'Todavía no hay proyectos.',
  emptyWords:
    'Un proyecto reúne dispositivos que se miran juntos: un campo, un edificio, un ensayo. Los dibuja en un gráfico y un mapa.',
  emptyNext: 'Crear el primero',
  create: 'Nuevo proyecto',
  createSubmit: 'Crear proyecto',
  edit: 'Cambiar el proyecto',
  editShort: 'Editar',
  saved: (name) => `${name} está guardado.`,
  removed: (name) => `${name} está borrado; sus dispositivos se quedan.`,
  nameExample: 'Cebollas del delta',
  nameMissing: 'Dele un nombre.',
  devices: 'Dispositivos',
  gateways: 'Pasarelas',
  map: 'Dónde están',
  chart: 'Juntos en un gráfico',
  sensors: 'Sensores del gráfico',
  chooseSensors: 'Elegir sensores',
  chartEmpty: 'No hay valores en este tiempo. Elija otros sensores o un tiempo más largo.',
  holds: (devices, gateways) =>
    `${countedInSpanish(devices, 'dispositivo', 'dispositivos')}, ${countedInSpanish(gateways, 'pasarela', 'pasarelas')}`,
  noDevices: 'Este proyecto no tiene todavía dispositivos.',
  noDevicesWords: 'Elija los que van juntos.',
  chooseDevices: 'Elegir dispositivos',
};
