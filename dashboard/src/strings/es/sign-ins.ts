import type { Strings } from '../catalogue.ts';

export const signIns: Strings['signIns'] = {
  title: 'Sesiones',
  list: 'Lista de sesiones',
  ownWords: 'Navegadores con su sesión iniciada. Cada una dura 14 días desde su último uso.',
  wordsOf: (name) => `Navegadores con la sesión de ${name} iniciada.`,
  none: 'Ningún navegador tiene la sesión iniciada.',
  current: 'Este navegador',
  browserOn: (browser, system) => `${browser} en ${system}`,
  unknown: 'Navegador desconocido',
  begun: 'Iniciada',
  used: 'último uso',
  from: (address) => `desde ${address}`,
  signOut: 'Cerrar sesión',
  signOutOf: (browser) => `Cerrar sesión: ${browser}`,
  signedOut: (browser) => `La sesión de ${browser} está cerrada.`,
  everywhere: 'Cerrar sesión en todas partes',
  everywhereQuestion: '¿Cerrar sesión en todas partes?',
  everywhereWords:
    'Se cierra enseguida la sesión de todos los navegadores de la lista, también este; vuelva a entrar con su contraseña. Las claves de API y los programas que entran con su contraseña siguen.',
  end: 'Terminar',
  endOf: (browser) => `Terminar la sesión: ${browser}`,
  endAll: 'Terminar todas',
  endAllOf: (name) => `Terminar todas las sesiones de ${name}`,
  endAllQuestion: (name) => `¿Terminar todas las sesiones de ${name}?`,
  endAllWords: (name) =>
    `Se cierra enseguida cada navegador con la sesión de ${name}. Las claves de API y los programas que entran con la contraseña siguen.`,
  endedAll: (name) => `Todas las sesiones de ${name} han terminado.`,
  keysTitle: 'Claves de API',
  keysWords: (name) => `Lo que deja entrar a programas y pasarelas como ${name}. Las claves mismas no se pueden leer.`,
  keysNone: 'No hay ninguna clave.',
  revokeAll: 'Revocar todas',
  revokeAllOf: (name) => `Revocar todas las claves de ${name}`,
  revokeAllQuestion: (name) => `¿Revocar todas las claves de ${name}?`,
  revokeAllWords:
    'Lo que usa una de ellas se rechaza enseguida, y sus conexiones MQTT se cortan. Las claves no vuelven.',
  revokedAll: (name) => `Todas las claves de ${name} están revocadas.`,
};
