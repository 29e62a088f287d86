// Refresh sessions (contract 2): a signed-in page gets new tokens by a cookie that no script can read, and that has no
// other use. Other sites cannot use it: the cookie is SameSite=Strict and bound to this path, CORS never allows
// credentials, and requests that a browser marks as cross-site are refused.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '../../../base/refusal.ts';
import { limits } from '../../../config/limits.ts';
import type { RefreshedSession, SessionOrigin } from '../../../domain/accounts/refresh-sessions.ts';
import { LoginBody, tokenAnswer } from '../../schemas/login-schemas.ts';
import { answerDone, answerText } from '../../server/preference.ts';
import { overload, refusals, type TypedApp, tooMany, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const tags = ['Authentication'];
const cookieName = 'dundun_renewal';
const path = '/auth/session';

export function registerRefreshSessions(app: TypedApp, { logins, refreshSessions, tokens }: Services): void {
  const answerToken = async (
    request: FastifyRequest,
    reply: FastifyReply,
    session: RefreshedSession,
  ): Promise<FastifyReply> => {
    setCookie(request, reply, session);
    const token = await tokens.issue(session.user, limits.tokenLifetimeS, session.id);
    return answerText(request, reply.header('cache-control', 'no-store'), token);
  };

  app.post(
    path,
    {
      config: { isOpen: true, isForPages: true },
      preHandler: refuseOtherSites,
      schema: {
        tags,
        operationId: 'createSession',
        summary: 'Sign in and keep signed in',
        description:
          'For web pages: answers with a token and sets a cookie, with which PUT gets further tokens. The cookie is valid for nothing else. Each use replaces it; if a replaced cookie is used again, the session ends. The session also ends when the password changes, after 14 days without use, and after 90 days.',
        security: [{}],
        body: LoginBody,
        response: {
          200: tokenAnswer,
          400: refusals[400],
          401: refusals[401],
          403: refusals[403],
          ...overload,
          ...tooMany,
        },
      },
    },
    async (request, reply) => {
      const { username, password } = request.body;
      const user = await logins.verify({ username, password, address: request.ip, isGone: () => reply.raw.destroyed });
      return answerToken(request, reply as never, await refreshSessions.begin(user, originOf(request))) as never;
    },
  );

  app.put(
    path,
    {
      config: { isOpen: true },
      preHandler: refuseOtherSites,
      schema: {
        tags,
        operationId: 'renewSession',
        summary: 'Get a new token by the session cookie',
        description:
          'Replaces the cookie. The old one stays valid for some seconds, for pages that send it at the same time.',
        security: [{}],
        response: { 200: tokenAnswer, 401: refusals[401], 403: refusals[403], ...overload },
      },
    },
    async (request, reply) => {
      const secret = cookieOf(request);
      if (secret === undefined) throw new Refusal('unauthenticated', 'There is no session. Sign in first.');
      return answerToken(request, reply as never, await refreshSessions.renew(secret, originOf(request))) as never;
    },
  );

  app.delete(
    path,
    {
      config: { isOpen: true },
      preHandler: refuseOtherSites,
      schema: {
        tags,
        operationId: 'deleteSession',
        summary: 'End the session',
        description: 'Removes the cookie and ends the tokens of the session.',
        security: [{}],
        response: writes,
      },
    },
    async (request, reply) => {
      const secret = cookieOf(request);
      if (secret !== undefined) await refreshSessions.end(secret);
      setCookie(request, reply as never, undefined);
      return answerDone(reply) as never;
    },
  );
}

/** A page cannot forge the headers by which a browser marks cross-site requests. */
function refuseOtherSites(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const site = request.headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  done(isOwn ? undefined : new Refusal('forbidden', 'Sessions are for pages of this service alone.'));
}

function originOf(request: FastifyRequest): SessionOrigin {
  return { agent: request.headers['user-agent'], address: request.ip };
}

/** Removes the cookie where there is no session. */
function setCookie(request: FastifyRequest, reply: FastifyReply, session: RefreshedSession | undefined): void {
  const ageS = Math.floor((session?.leftMs ?? 0) / 1000);
  const secure = request.protocol === 'https' ? '; Secure' : '';
  const scope = `Path=/api/v2${path}; Max-Age=${ageS}; HttpOnly; SameSite=Strict${secure}`;
  reply.header('set-cookie', `${cookieName}=${session?.secret ?? ''}; ${scope}`);
}

function cookieOf(request: FastifyRequest): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2);
    if (name === cookieName && /^[\w-]{43}$/.test(value)) return value;
  }
  return undefined;
}
