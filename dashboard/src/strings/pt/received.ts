import type { Strings } from '../catalogue.ts';

export const received: Strings['received'] = {
  title: 'Entregue a si',
  words:
    'Dispositivos que outros lhe entregaram. As partilhas que tinham terminaram; até à hora indicada pode repô-las, ou devolver um dispositivo.',
  list: 'Dispositivos entregues a si',
  from: (name) => `de ${name}`,
  fromNobody: 'de alguém que já não é utilizador',
  until: 'por decidir',
  shares: (names) => `Era partilhado com ${names}`,
  noShares: 'Não era partilhado com ninguém',
  keep: 'Manter as partilhas anteriores',
  keepOf: (device) => `Manter as partilhas anteriores de ${device}`,
  keepQuestion: (device) => `Partilhar ${device} como antes?`,
  keepWords: (names) =>
    `${names} pode usá-lo de novo como antes. Pode terminar cada partilha na página do dispositivo; devolvê-lo aqui já não será possível.`,
  kept: (device) => `${device} é partilhado como antes.`,
  giveBack: 'Devolver',
  giveBackOf: (device) => `Devolver: ${device}`,
  giveBackQuestion: (device) => `Devolver ${device}?`,
  giveBackWords: (name) =>
    `Volta logo a pertencer a ${name}, com as partilhas que tinha. Só o verá se for partilhado consigo ou público.`,
  givenBack: (device, name) => `${device} pertence de novo a ${name}.`,
};
