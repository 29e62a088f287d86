import type { Strings } from '../catalogue.ts';
import { countedInPortuguese } from '../plural.ts';

export const projects: Strings['projects'] = {
  title: 'Projetos',
  count: (count) => countedInPortuguese(count, 'projeto', 'projetos'),
  empty: 'Ainda não há projetos.',
  emptyWords:
    'Um projeto junta dispositivos que se veem em conjunto: um campo, um edifício, um ensaio. Desenha-os num gráfico e num mapa.',
  emptyNext: 'Criar o primeiro',
  create: 'Novo projeto',
  createSubmit: 'Criar projeto',
  edit: 'Alterar o projeto',
  editShort: 'Editar',
  saved: (name) => `${name} está guardado.`,
  removed: (name) => `${name} está apagado; os seus dispositivos ficam.`,
  nameExample: 'Cebolas do delta',
  nameMissing: 'Dê-lhe um nome.',
  devices: 'Dispositivos',
  gateways: 'Gateways',
  map: 'Onde estão',
  chart: 'Juntos num gráfico',
  sensors: 'Sensores do gráfico',
  chooseSensors: 'Escolher sensores',
  chartEmpty: 'Não há valores neste tempo. Escolha outros sensores ou um tempo mais longo.',
  holds: (devices, gateways) =>
    `${countedInPortuguese(devices, 'dispositivo', 'dispositivos')}, ${countedInPortuguese(gateways, 'gateway', 'gateways')}`,
  noDevices: 'Este projeto ainda não tem dispositivos.',
  noDevicesWords: 'Escolha os que andam juntos.',
  chooseDevices: 'Escolher dispositivos',
};
