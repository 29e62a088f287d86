// Listing and ending the API keys and sessions of a user (contract 3): for the user and admins, never with an API key.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import type { RefreshSession } from '../../../domain/accounts/refresh-session-store.ts';
import { pageFrom } from '../../lists/paging.ts';
import { UserParams } from '../../schemas/account-schemas.ts';
import { KeyParams, KeySchema, SessionSchema } from '../../schemas/key-schemas.ts';
import { answerDone } from '../../server/preference.ts';
import { AllOrPage, pageOf, refusals, type TypedApp, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { toKeyRecord } from './keys.ts';

const forWhom = 'For the user and admins.';

export function registerSignIns(app: TypedApp, services: Services): void {
  registerKeysOf(app, services);
  registerSessionsOf(app, services);
}

function registerKeysOf(app: TypedApp, { keys }: Services): void {
  const tags = ['API keys'];
  app.get(
    '/users/:user/keys',
    {
      schema: {
        tags,
        operationId: 'listUserKeys',
        summary: "List a user's API keys",
        description: `In order of creation, without the secret keys. ${forWhom}`,
        params: UserParams,
        querystring: AllOrPage,
        response: { 200: pageOf(KeySchema, { description: 'The keys.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const all = await keys.listOf(request.actor, request.params.user.toLowerCase());
      return pageFrom(request, reply as never, all, request.query).map(toKeyRecord) as never;
    },
  );

  const remove = async (request: FastifyRequest, reply: FastifyReply, ids: { user: string; key?: string }) => {
    await keys.removeOf(request.actor, ids.user.toLowerCase(), ids.key?.toLowerCase());
    return answerDone(reply as never) as never;
  };
  app.delete(
    '/users/:user/keys',
    {
      schema: {
        tags,
        operationId: 'deleteUserKeys',
        summary: "Revoke all of a user's API keys",
        description: `At once. ${forWhom}`,
        params: UserParams,
        response: writes,
      },
    },
    (request, reply) => remove(request as never, reply as never, request.params),
  );

  app.delete(
    '/users/:user/keys/:key',
    {
      schema: {
        tags,
        operationId: 'deleteUserKey',
        summary: "Revoke one of a user's API keys",
        description: `At once. ${forWhom}`,
        params: Type.Object({ ...UserParams.properties, ...KeyParams.properties }),
        response: writes,
      },
    },
    (request, reply) => remove(request as never, reply as never, request.params),
  );
}

function registerSessionsOf(app: TypedApp, { refreshSessions }: Services): void {
  const tags = ['Authentication'];
  app.get(
    '/users/:user/sessions',
    {
      schema: {
        tags,
        operationId: 'listUserSessions',
        summary: "List a user's sessions",
        description: `Sign-ins of web pages that have not ended, the last used first. ${forWhom}`,
        params: UserParams,
        querystring: AllOrPage,
        response: { 200: pageOf(SessionSchema, { description: 'The sessions.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const all = await refreshSessions.list(request.actor, request.params.user.toLowerCase());
      const toRecord = (session: RefreshSession) => toSessionRecord(session, request.actor.sessionId);
      return pageFrom(request, reply as never, all, request.query).map(toRecord) as never;
    },
  );

  const remove = async (request: FastifyRequest, reply: FastifyReply, ids: { user: string; session?: string }) => {
    await refreshSessions.remove(request.actor, ids.user.toLowerCase(), ids.session?.toLowerCase());
    return answerDone(reply as never) as never;
  };
  app.delete(
    '/users/:user/sessions',
    {
      schema: {
        tags,
        operationId: 'deleteUserSessions',
        summary: "End all of a user's sessions",
        description: `Takes effect at once, also for tokens from these sessions. ${forWhom}`,
        params: UserParams,
        response: writes,
      },
    },
    (request, reply) => remove(request as never, reply as never, request.params),
  );

  app.delete(
    '/users/:user/sessions/:session',
    {
      schema: {
        tags,
        operationId: 'deleteUserSession',
        summary: "End one of a user's sessions",
        description: `Takes effect at once, also for tokens from this session. ${forWhom}`,
        params: Type.Object({ ...UserParams.properties, session: SessionSchema.properties.id }),
        response: writes,
      },
    },
    (request, reply) => remove(request as never, reply as never, request.params),
  );
}

/** A session as it is read. @param own the id of the session in which it is read. */
export function toSessionRecord(session: RefreshSession, own: string | undefined) {
  return {
    id: session.id,
    date_created: formatTimestamp(session.createdMs),
    last_used: formatTimestamp(session.lastUsedMs),
    expires: formatTimestamp(session.expiresMs),
    user_agent: session.agent,
    address: session.address,
    current: session.id === own,
  };
}
