import type { Strings } from '../catalogue.ts';

export const firstRun: Strings['firstRun'] = {
  title: 'Deje entrar el primer valor',
  words: 'Todavía no hay dispositivos. Tres maneras de empezar; la primera lleva un minuto.',
  pushTitle: 'Enviar un valor ahora',
  pushWords: 'Pegue esto en una terminal. Crea un dispositivo y envía un valor.',
  pushAsGuest: 'Enviado sin cuenta, el dispositivo es de guest y es público.',
  waiting: 'Esperando el primer valor …',
  arrived: 'Ha llegado.',
  open: (name) => `Abrir ${name}`,
  gatewayTitle: 'Conectar una pasarela',
  gatewayWords: 'Dé a su pasarela esta dirección y una cuenta. Ella misma crea sus dispositivos.',
  address: 'Dirección',
  mqtt: 'MQTT',
  account: 'Cuenta',
  accountGuest: 'ninguna (público), o inicie sesión',
  importTitle: 'Traer un archivo CSV',
  importWords: 'Historial de otro sitio: elija un archivo, diga qué es cada columna, mírelo y acéptelo.',
  importOpen: 'Elegir un archivo',
  byHand: 'Crear un dispositivo a mano',
};
