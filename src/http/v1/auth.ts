// Tokens valid for one minute, and permissions, in the terms of version 1 (spec 4.3, contract 2 and 9).
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { namesOfScopes } from '../../domain/scopes.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { LoginBody, tokenAnswer } from '../schemas/login-schemas.ts';
import { AllOrPage, overload, pageOf, refusals, type TypedApp, tooMany } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { answerToken, basicLogin } from '../sign-in/logins.ts';
import { olderErrors } from './description.ts';
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
  // Under the path of version 1.0 they are the same operations, and hidden in the reference.
  for (const [path, hidden] of [['', {}] as const, [domainPath, { hide: true }] as const]) {
    registerTokens(app, path, hidden, services);
    registerPermissions(app, path, hidden, services);
  }
}

function registerTokens(app: TypedApp, path: string, hidden: object, services: Services): void {
  app.post(
    `${path}/auth/token`,
    {
      config: { isOpen: true },
      schema: {
        ...hidden,
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
      config: { takesBasic: true, isOpen: true },
      schema: {
        ...hidden,
        tags,
        operationId: 'v1GetToken',
        summary: 'Get a token by HTTP Basic',
        description: tokenWords,
        security: [{ basic: [] }],
        response: { 200: tokenAnswer, ...olderErrors({ 401: wrongLogin, 503: overload[503], ...tooMany }) },
      },
    },
    (request, reply) => {
      const login = basicLogin(request);
      return answerToken(services, request, reply as never, { ...login, lifetimeS }) as never;
    },
  );
}

function registerPermissions(app: TypedApp, path: string, hidden: object, { permissionQueries }: Services): void {
  app.get(
    `${path}/auth/permissions`,
    {
      schema: {
        ...hidden,
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
