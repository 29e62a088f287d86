import type { Strings } from '../catalogue.ts';

export const ownAccount: Strings['ownAccount'] = {
  everything: 'Tudo o que tem',
  everythingWords:
    'Um ficheiro ZIP com o seu perfil, dispositivos, gateways, projetos, notificações, mensagens e partilhas em JSON, e todos os valores dos seus dispositivos em CSV. Sem palavras-passe nem chaves.',
  download: 'Descarregar tudo o que tem',
  soFar: (size) => `${size} até agora …`,
  saved: (file) => `${file} está guardado.`,
  remove: 'Eliminar a minha conta',
  removeWords: 'Descarregue antes o que tem, se o puder querer mais tarde.',
  removeOpen: 'Eliminar a minha conta …',
  removeQuestion: 'Eliminar a sua conta?',
  goes: 'Com ela vão, logo e para sempre:',
  goesSignIns: 'as suas sessões em todo o lado, as chaves de API e as ligações MQTT',
  goesRules: 'as suas notificações, mensagens e projetos',
  goesShares: 'o que partilha com outros e o que outros partilham consigo',
  noWayBack: 'Ninguém a pode trazer de volta, nem um administrador.',
  owns: (what) => `É dono de ${what}. O que se faz com isso?`,
  next: 'Continuar',
  lastWords: 'A sua palavra-passe, e a conta desaparece.',
  lastWordsDelete: (what) => `A sua conta é eliminada, e ${what} com todos os valores.`,
  lastWordsTransfer: (what, to) => `A sua conta é eliminada; ${to} recebe ${what} com todos os valores.`,
  passwordMissing: 'Escreva a sua palavra-passe.',
  removed: 'A sua conta desapareceu.',
};
