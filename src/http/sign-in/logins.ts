// Gives tokens for username and password (contract 2), for every version; login-schemas.ts has body and answer.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../base/refusal.ts';
import type { Callers } from '../../domain/callers/callers.ts';
import type { RefusedCalls } from '../../domain/gateways/refused-calls.ts';
import type { Logins } from '../../domain/users/logins.ts';
import { answerText } from '../server/preference.ts';
import { originOf } from './refusal-loops.ts';
import type { Tokens } from './tokens.ts';

/** Answers with a token of this lifetime. @throws Refusal `unauthenticated`, `too-many`, `busy` */
export async function answerToken(
  {
    logins,
    tokens,
    refusedCalls,
    callers,
  }: {
    readonly logins: Logins;
    readonly tokens: Tokens;
    readonly refusedCalls: RefusedCalls;
    readonly callers: Callers;
  },
  request: FastifyRequest,
  reply: FastifyReply,
  login: { readonly username: string; readonly password: string; readonly lifetimeS: number },
): Promise<FastifyReply> {
  const { username, password, lifetimeS } = login;
  const user = await logins.verify({ username, password, address: request.ip, isGone: () => reply.raw.destroyed });
  refusedCalls.requireLoginNotSlowed(originOf(user, callers.ofAddress(request.ip).key));
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
