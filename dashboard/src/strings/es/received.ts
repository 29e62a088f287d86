import type { Strings } from '../catalogue.ts';

export const received: Strings['received'] = {
  title: 'Entregado a usted',
  words:
    'Dispositivos que otros le entregaron. Los permisos que tenían han terminado; hasta la hora indicada puede recuperarlos, o devolver un dispositivo.',
  list: 'Dispositivos entregados a usted',
  from: (name) => `de ${name}`,
  fromNobody: 'de alguien que ya no es usuario',
  until: 'por decidir',
  shares: (names) => `Se compartía con ${names}`,
  noShares: 'No se compartía con nadie',
  keep: 'Mantener los permisos anteriores',
  keepOf: (device) => `Mantener los permisos anteriores de ${device}`,
  keepQuestion: (device) => `¿Compartir ${device} como antes?`,
  keepWords: (names) =>
    `${names} puede usarlo de nuevo como antes. Puede terminar cada permiso en la página del dispositivo; devolverlo aquí ya no será posible.`,
  kept: (device) => `${device} se comparte como antes.`,
  giveBack: 'Devolverlo',
  giveBackOf: (device) => `Devolver: ${device}`,
  giveBackQuestion: (device) => `¿Devolver ${device}?`,
  giveBackWords: (name) =>
    `Enseguida vuelve a ser de ${name}, con los permisos que tenía. Usted lo verá solo si se comparte con usted o es público.`,
  givenBack: (device, name) => `${device} vuelve a ser de ${name}.`,
};
