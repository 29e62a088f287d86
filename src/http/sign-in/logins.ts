// Getting a token (contract 2): request and answer, for every version.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { answerText } from '../server/preference.ts';
import type { Services } from '../server/routes.ts';

export const LoginBody = Type.Object(
  {
    username: boundedText(limits.knownUsernameCharsMax, { description: 'The name of the user.', examples: ['admin'] }),
    password: boundedText(limits.knownPasswordCharsMax, {
      description: 'The password of the user.',
      examples: ['talking drum'],
    }),
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

/** Answers with a token of this lifetime. @throws Refusal `unauthenticated`, `too-many`, `busy` */
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

/** @throws Refusal `unauthenticated` when the header is no username and password (RFC 7617). */
export function basicLogin(request: FastifyRequest): { readonly username: string; readonly password: string } {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const [, username, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString('utf8')) ?? [];
  if (username !== undefined && password !== undefined) return { username, password };
  throw new Refusal('unauthenticated', 'Send username and password by HTTP Basic, or by POST as JSON.');
}
