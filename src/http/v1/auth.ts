// Tokens valid for one minute, and permissions, in the terms of version 1 (spec 4.3, contract 2 and 9).
import type { FastifyRequest, FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { Refusal } from '../../base/refusal.ts';
import { parseJsonText } from '../../base/text/json-text.ts';
import { limits } from '../../config/limits.ts';
import { namesOfScopes } from '../../domain/scopes.ts';
import { describeBody } from '../docs/openapi.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { LoginBody, tokenAnswer } from '../schemas/login-schemas.ts';
import { assertTextBound, textBounds } from '../schemas/text-bounds.ts';
import { readBody } from '../server/body-reading.ts';
import { AllOrPage, overload, pageOf, refusals, type TypedApp, tooMany } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { answerToken, basicLogin } from '../sign-in/logins.ts';
import { describeUnderDomain, olderErrors } from './description.ts';
import { domainPath } from './routes.ts';
import { toOlderScope } from './words.ts';

const tags = ['v1 Authentication'];
const lifetimeS = limits.olderTokenLifetimeS;

const PermissionSchema = Type.Object(
  {
    resource: Type.String({ description: 'Id of the sensor.', examples: ['field-3'] }),
    scopes: Type.Array(Type.String({ examples: ['sensors:view'] }), {
      description:
        'The rights held on it, in this order: `sensors:view`, `sensors:update`, `sensors:delete`, `sensors-data:view`, `sensors-data:create`.',
    }),
  },
  { title: 'V1Permission', description: 'What the caller may do with a sensor.' },
);

const tokenWords =
  'Good for one minute. The answer is the bare token as text, or a JSON string where `Accept` ranks `application/json` above `text/plain`.';

const wrongLogin = {
  description: 'The username or the password is wrong.',
  headers: { 'WWW-Authenticate': { type: 'string', description: '`Bearer`, and `Basic`, which is taken here.' } },
};

export function registerAuth(app: TypedApp, services: Services): void {
  const underDomain = {
    swaggerTransform: ({ schema, url }: { readonly schema: FastifySchema; readonly url: string }) => ({
      schema: describeUnderDomain(describeBody(schema)),
      url,
    }),
  };
  for (const [path, described] of [['', {}] as const, [domainPath, underDomain] as const]) {
    registerTokens(app, path, described, services);
    registerPermissions(app, path, described, services);
  }
}

function registerTokens(app: TypedApp, path: string, described: object, services: Services): void {
  app.post(
    `${path}/auth/token`,
    {
      config: { isOpen: true, ignoresToken: true, ...described },
      schema: {
        tags,
        operationId: 'v1CreateToken',
        summary: 'Get a token',
        description: tokenWords,
        security: [{}],
        body: LoginBody,
        response: {
          200: tokenAnswer,
          ...olderErrors({ 400: refusals[400], 401: refusals[401], ...overload, ...tooMany }),
        },
      },
    },
    (request, reply) => answerToken(services, request, reply as never, { ...request.body, lifetimeS }) as never,
  );

  app.get(
    `${path}/auth/token`,
    {
      // A GET has no body for Fastify.
      preValidation: readLogin,
      config: { takesBasic: true, isOpen: true, ignoresToken: true, ...described },
      schema: {
        tags,
        operationId: 'v1GetToken',
        summary: 'Get a token by HTTP Basic',
        description: `${tokenWords} Username and password are also taken as a JSON body, as \`POST\` takes them.`,
        security: [{ basic: [] }],
        response: {
          200: tokenAnswer,
          ...olderErrors({ 400: refusals[400], 401: wrongLogin, ...overload, ...tooMany }),
        },
      },
    },
    (request, reply) => {
      const login = loginIn(request.body) ?? basicLogin(request);
      return answerToken(services, request, reply as never, { ...login, lifetimeS }) as never;
    },
  );
}

function registerPermissions(app: TypedApp, path: string, described: object, { permissionQueries }: Services): void {
  app.get(
    `${path}/auth/permissions`,
    {
      config: described,
      schema: {
        tags,
        operationId: 'v1ListPermissions',
        summary: 'List what you may do with sensors',
        description:
          'Every sensor on which you hold at least one right, public ones too; without a token, the view of guest.',
        querystring: AllOrPage,
        response: {
          200: pageOf(PermissionSchema, { description: 'The sensors and your rights on each.', counted: true }),
          ...olderErrors(refusals),
        },
      },
    },
    async (request, reply) => {
      const { limit, offset = 0 } = request.query;
      const { total, holdings } = await permissionQueries.list(request.actor, 'device', { limit, offset });
      setPage(request, reply as never, { limit, offset, total });
      const text = arrayText(holdings, ({ id, scopes }) =>
        JSON.stringify({ resource: id, scopes: namesOfScopes(scopes).map(toOlderScope) }),
      );
      return sendJsonText(reply, text);
    },
  );
}

/** Reads the JSON body of a GET, if there is one. @throws Refusal `malformed`, `too-large` */
function readLogin(request: FastifyRequest, _reply: unknown, done: (error?: Error) => void): void {
  const { headers, raw } = request;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) {
    done();
    return;
  }
  const take = (body: Buffer) => {
    if (body.length > 0) request.body = parseJsonText(body, limits.nestingLevelsMax);
  };
  readBody(request, raw, { take, done: (error) => (error === null ? done() : done(error)) });
}

/** The login in a body; undefined without a body. @throws Refusal `malformed` */
function loginIn(body: unknown): { readonly username: string; readonly password: string } | undefined {
  if (body === undefined || body === null) return undefined;
  const { username, password } = body as { readonly username?: unknown; readonly password?: unknown };
  if (typeof username !== 'string' || typeof password !== 'string') {
    throw new Refusal('malformed', 'The body is {"username": <text>, "password": <text>}.');
  }
  assertTextBound(username, '/username', textBounds.username);
  assertTextBound(password, '/password', textBounds.password);
  return { username, password };
}
