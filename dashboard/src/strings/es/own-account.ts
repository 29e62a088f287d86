import type { Strings } from '../catalogue.ts';

export const ownAccount: Strings['ownAccount'] = {
  everything: 'Todo lo que tiene',
  everythingWords:
    'Un archivo ZIP con su perfil, dispositivos, pasarelas, proyectos, notificaciones, mensajes y permisos en JSON, y todos los valores de sus dispositivos en CSV. Sin contraseñas ni claves.',
  download: 'Descargar todo lo que tiene',
  soFar: (size) => `${size} hasta ahora …`,
  saved: (file) => `${file} está guardado.`,
  remove: 'Eliminar mi cuenta',
  removeWords: 'Descargue antes lo que tiene, si puede necesitarlo después.',
  removeOpen: 'Eliminar mi cuenta …',
  removeQuestion: '¿Eliminar su cuenta?',
  goes: 'Con ella se van, enseguida y para siempre:',
  goesSignIns: 'sus sesiones en todas partes, sus claves de API y conexiones MQTT',
  goesRules: 'sus notificaciones, mensajes y proyectos',
  goesShares: 'lo que comparte con otros y lo que otros comparten con usted',
  noWayBack: 'Nadie puede recuperarla, tampoco un administrador.',
  owns: (what) => `Usted es propietario de ${what}. ¿Qué se hace con ello?`,
  next: 'Continuar',
  lastWords: 'Su contraseña, y la cuenta desaparece.',
  lastWordsDelete: (what) => `Se elimina su cuenta, y ${what} con todos los valores.`,
  lastWordsTransfer: (what, to) => `Se elimina su cuenta; ${to} recibe ${what} con todos los valores.`,
  passwordMissing: 'Escriba su contraseña.',
  removed: 'Su cuenta ya no existe.',
};
