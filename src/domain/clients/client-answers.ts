// What this process answers others that ask for its MQTT clients. They have checked who asks.
import { limits } from '../../config/limits.ts';
import type { TurnTaker } from '../callers/caller.ts';
import { RecentWork } from '../callers/recent-work.ts';
import type { QuestionHandlers } from '../ports/questions.ts';
import type { ClientPart, OwnClients } from './own-clients.ts';
import { type ToldClient, tell } from './told-client.ts';

type Handlers = Pick<QuestionHandlers, 'clients-counted' | 'clients-listed' | 'client-found' | 'client-disconnected'>;

/** Other servers, as those for whom the work is done. */
const others: TurnTaker = { recentWork: new RecentWork() };

export function clientAnswers(own: OwnClients): Handlers {
  const total = async (part: Omit<ClientPart, 'offset' | 'limit'>) =>
    (await own.list({ ...part, offset: 0, limit: 0 }, others)).total;
  return {
    'clients-counted': async (selection) => ({
      connected: await total({ ...selection, state: 'connected' }),
      kept: await total({ ...selection, state: 'kept' }),
    }),
    'clients-listed': async (part) => {
      const { ids } = await own.list(part, others);
      const clients: ToldClient[] = [];
      let looked = 0;
      let chars = 0;
      for (const id of ids) {
        if (chars > limits.answerCharsWanted) break;
        looked += 1;
        const client = own.find(id, part.user);
        if (client === undefined) continue;
        const told = tell(client);
        clients.push(told);
        chars += JSON.stringify(told).length;
      }
      return { clients, looked };
    },
    'client-found': async ({ client: id }) => {
      const client = own.find(id, 'everybody');
      return client === undefined ? {} : { client: tell(client) };
    },
    'client-disconnected': async ({ client, user, keepSession, by }) => ({
      isDone: await own.disconnect(client, { user, keepSession, by }),
    }),
  };
}
