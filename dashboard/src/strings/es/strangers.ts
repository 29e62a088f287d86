import type { Strings } from '../catalogue.ts';

export const strangers: Strings['strangers'] = {
  title: '¿Qué pueden hacer los desconocidos?',
  words:
    'Un desconocido es cualquiera que llega a esta dirección sin iniciar sesión. Los dispositivos sin cuenta también lo son.',
  full: 'Leer, enviar y cambiar',
  fullMeans:
    'Crean dispositivos, envían valores, leen lo público, y cambian o borran lo que no tiene propietario. Adecuado en una red propia.',
  push: 'Leer y enviar',
  pushMeans: 'Crean dispositivos, envían valores y leen lo público, y no cambian nada de lo que hay.',
  none: 'Nada',
  noneMeans: 'Quien no inicia sesión no entra; cada dispositivo necesita una cuenta o una clave. Adecuado en internet.',
  save: 'Dejarlo así',
  saved: 'Guardado. Lo encuentra de nuevo en su perfil, en Acceso y aspecto.',
  fixed: 'El operador lo ha fijado con DUNDUN_GUEST_ACCESS; se cambia allí.',
};
