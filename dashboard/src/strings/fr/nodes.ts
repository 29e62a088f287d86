import type { Strings } from '../catalogue.ts';
import { countedInFrench } from '../plural.ts';

export const nodes: Strings['nodes'] = {
  title: 'Serveurs',
  count: (count) => countedInFrench(count, 'serveur', 'serveurs'),
  silentCount: (count) => `dont ${count.toLocaleString('fr')} sans signe de vie`,
  list: 'Serveurs',
  empty: 'Aucun serveur en vue.',
  emptyWords: 'Chacun donne de ses nouvelles toutes les secondes.',
  server: 'Serveur',
  state: 'État',
  alive: 'en vie',
  silent: 'muet, dernier signe',
  answering: 'vous répond',
  release: (release) => `Version ${release}`,
  releaseName: 'Version',
  machine: 'Machine',
  started: 'Démarré',
  behind: 'Retard',
  upToDate: 'à jour',
  datapoints: (count) => countedInFrench(count, 'mesure', 'mesures'),
  changes: (count) => countedInFrench(count, 'changement', 'changements'),
  work: 'Fait pour tous',
  works: {
    rules: 'évalue les notifications',
    outbox: 'envoie les messages',
    alarms: 'guette les silences',
    retention: 'supprime ce qui est trop vieux',
    sealing: 'comprime les mesures',
    edits: 'retire et corrige des valeurs',
  },
  noWork: 'rien, il est en réserve',
  connections: 'Connexions',
  http: (count) => `${count.toLocaleString('fr')} HTTP`,
  mqtt: (count) => `${count.toLocaleString('fr')} MQTT`,
  rate: 'Mesures',
  perSecond: (rate) => `${rate.toLocaleString('fr', { maximumSignificantDigits: 3 })} par seconde`,
  untold: 'pas encore connu',
  alone:
    'Un seul serveur utilise la base de données. Un autre, démarré avec le même DUNDUN_DATABASE_URL, apparaît ici de lui-même.',
  several:
    'Un serveur qui ne donne pas signe de vie pendant quelques secondes est déclaré mort : il quitte cette liste, et les autres reprennent son travail.',
  one: 'Ce service tourne sur un seul serveur.',
  oneWords: 'C’est très bien ainsi : il garde ses données dans un dossier, qu’un serveur utilise à la fois.',
  beyond:
    'Quand une machine devient trop petite, ou que sa perte ne doit pas arrêter le service, les données passent à PostgreSQL et plusieurs serveurs les partagent. Comment faire, et ce qu’il faut pour cela, se lit dans',
};
