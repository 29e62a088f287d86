// What this process answers when another one asks for what only it has in memory. Called by server.ts before the servers listen.
import { clientAnswers } from '../domain/clients/client-answers.ts';
import type { Questions } from '../domain/ports/questions.ts';
import type { Domain } from './wire-domain.ts';

export function answerQuestions(questions: Pick<Questions, 'answer'>, domain: Domain): void {
  const { ownClients, presence, services } = domain;
  questions.answer({
    ...clientAnswers(ownClients),
    'gateways-connected': async ({ gateways: ids }) => {
      const gateways: string[] = [];
      for (const id of ids) {
        if (!presence.hasConnection(id)) continue;
        const gateway = await services.gateways.find(id);
        if (gateway !== undefined && presence.isConnectedHere(gateway)) gateways.push(id);
      }
      return { gateways };
    },
  });
}
