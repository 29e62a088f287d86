import type { Strings } from '../catalogue.ts';

export const firstRun: Strings['firstRun'] = {
  title: 'Deixe entrar o primeiro valor',
  words: 'Ainda não há dispositivos. Três maneiras de começar; a primeira leva um minuto.',
  pushTitle: 'Enviar um valor agora',
  pushWords: 'Cole isto num terminal. Cria um dispositivo e envia um valor.',
  pushAsGuest: 'Enviado sem conta, o dispositivo pertence a guest e é público.',
  waiting: 'À espera do primeiro valor …',
  arrived: 'Chegou.',
  open: (name) => `Abrir ${name}`,
  gatewayTitle: 'Ligar uma gateway',
  gatewayWords: 'Dê à sua gateway este endereço e uma conta. Ela cria os seus dispositivos.',
  address: 'Endereço',
  mqtt: 'MQTT',
  account: 'Conta',
  accountGuest: 'nenhuma (público), ou inicie sessão',
  importTitle: 'Trazer um ficheiro CSV',
  importWords: 'Histórico de outro lado: escolha um ficheiro, diga o que é cada coluna, veja e aceite.',
  importOpen: 'Escolher um ficheiro',
  byHand: 'Criar um dispositivo à mão',
};
