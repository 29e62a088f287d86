import type { Strings } from '../catalogue.ts';
import { countedInPortuguese } from '../plural.ts';

export const nodes: Strings['nodes'] = {
  title: 'Servidores',
  count: (count) => countedInPortuguese(count, 'servidor', 'servidores'),
  silentCount: (count) => `${count.toLocaleString('pt-PT')} sem sinal`,
  list: 'Servidores',
  empty: 'Nenhum servidor à vista.',
  emptyWords: 'Cada um dá notícias de si a cada segundo.',
  server: 'Servidor',
  state: 'Estado',
  alive: 'vivo',
  silent: 'calado, último sinal',
  answering: 'responde-lhe',
  release: (release) => `Versão ${release}`,
  releaseName: 'Versão',
  machine: 'Máquina',
  started: 'Iniciado',
  behind: 'Atraso',
  upToDate: 'em dia',
  datapoints: (count) => countedInPortuguese(count, 'medição', 'medições'),
  changes: (count) => countedInPortuguese(count, 'alteração', 'alterações'),
  work: 'Faz por todos',
  works: {
    rules: 'avalia as notificações',
    outbox: 'envia as mensagens',
    alarms: 'vigia os silêncios',
    retention: 'apaga o que é demasiado antigo',
    sealing: 'comprime as medições',
    edits: 'retira e corrige valores',
  },
  noWork: 'nada, está de reserva',
  connections: 'Ligações',
  http: (count) => `${count.toLocaleString('pt-PT')} HTTP`,
  mqtt: (count) => `${count.toLocaleString('pt-PT')} MQTT`,
  rate: 'Medições',
  perSecond: (rate) => `${rate.toLocaleString('pt-PT', { maximumSignificantDigits: 3 })} por segundo`,
  untold: 'ainda não se sabe',
  alone:
    'Um só servidor usa a base de dados. Outro que seja iniciado com o mesmo DUNDUN_DATABASE_URL aparece aqui por si.',
  several:
    'Um servidor que não dá sinal de vida durante alguns segundos é declarado morto: sai desta lista e os outros assumem o seu trabalho.',
  one: 'Este serviço funciona num só servidor.',
  oneWords: 'Está bem assim: guarda os seus dados numa pasta, que um servidor usa de cada vez.',
  beyond:
    'Quando uma máquina se torna pequena, ou a sua perda não deve parar o serviço, os dados passam para PostgreSQL e vários servidores partilham-nos. Como se faz, e o que é preciso, está em',
};
