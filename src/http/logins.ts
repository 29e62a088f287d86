// Getting a token (contract 2): what is asked for, and the answer, in every version.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { answerText } from './preference.ts';
import type { Services } from './routes.ts';

export const LoginBody = Type.Object(
  {
    username: Type.String({ description: 'The name of the user.', examples: ['admin'] }),
    password: Type.String({ description: 'The password of the user.', examples: ['talking drum'] }),
  },
  {
    title: 'Login',
    description: 'Who asks for a token.',
    examples: [{ username: 'admin', password: 'talking drum' }],
  },
);

export const tokenAnswer = {
  description: 'The token.',
  content: {
    'text/plain': { schema: Type.String({ description: 'The bare token.' }) },
    'application/json': { schema: Type.String({ description: 'The token as a JSON string.' }) },
  },
};

/** Answers with a token that is good for so long. @throws Refusal `unauthenticated`, `too-many`, `busy` */
export async function answerToken(
  { logins, tokens }: Services,
  request: FastifyRequest,
  reply: FastifyReply,
  login: { readonly username: string; readonly password: string; readonly lifetimeS: number },
): Promise<FastifyReply> {
  const { username, password, lifetimeS } = login;
  const user = await logins.verify({ username, password, address: request.ip });
  const token = await tokens.issue(user, lifetimeS);
  reply.header('cache-control', 'no-store');
  return answerText(request, reply, token);
}
