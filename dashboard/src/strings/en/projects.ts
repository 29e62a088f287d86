import { counted } from '../plural.ts';

export const projects = {
  title: 'Projects',
  count: (count: number) => counted(count, 'project', 'projects'),
  empty: 'No project yet.',
  emptyWords:
    'A project puts devices together that you look at together: a field, a building, a trial. It draws them on one chart and one map.',
  emptyNext: 'Make the first one',
  create: 'New project',
  createSubmit: 'Create project',
  edit: 'Change the project',
  editShort: 'Edit',
  saved: (name: string) => `${name} is saved.`,
  removed: (name: string) => `${name} is deleted; its devices stay.`,
  nameExample: 'Onions of the delta',
  nameMissing: 'Give it a name.',
  devices: 'Devices',
  gateways: 'Gateways',
  map: 'Where they are',
  chart: 'Together on a chart',
  sensors: 'Sensors on the chart',
  chooseSensors: 'Choose sensors',
  chartEmpty: 'No values in this time. Choose other sensors or a longer time.',
  holds: (devices: number, gateways: number) =>
    `${counted(devices, 'device', 'devices')}, ${counted(gateways, 'gateway', 'gateways')}`,
  noDevices: 'This project has no device yet.',
  noDevicesWords: 'Choose those that belong together.',
  chooseDevices: 'Choose devices',
};
