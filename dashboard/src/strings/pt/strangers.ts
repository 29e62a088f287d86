import type { Strings } from '../catalogue.ts';

export const strangers: Strings['strangers'] = {
  title: 'O que podem fazer os estranhos?',
  words:
    'Um estranho é qualquer um que chega a este endereço sem iniciar sessão. Os dispositivos sem conta também o são.',
  full: 'Ler, enviar e alterar',
  fullMeans:
    'Criam dispositivos, enviam valores, leem o que é público, e alteram ou apagam o que não tem dono. Certo numa rede própria.',
  push: 'Ler e enviar',
  pushMeans: 'Criam dispositivos, enviam valores e leem o que é público, e não alteram nada do que existe.',
  none: 'Nada',
  noneMeans:
    'Quem não inicia sessão não entra; cada dispositivo precisa de uma conta ou de uma chave. Certo na internet.',
  save: 'Ficar assim',
  saved: 'Guardado. Encontra-o de novo no seu perfil, em Acesso e aspeto.',
  fixed: 'O operador fixou-o com DUNDUN_GUEST_ACCESS; muda-se lá.',
};
