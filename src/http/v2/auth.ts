// Tokens (spec 4.1, contract 2).
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { answerText } from '../preference.ts';
import { overload, refusals, type Services, type TypedApp, tooMany } from '../routes.ts';

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

export function registerAuth(app: TypedApp, services: Services): void {
  const { logins, tokens } = services;

  app.post(
    '/auth/token',
    {
      schema: {
        tags: ['Authentication'],
        operationId: 'createToken',
        summary: 'Get a token',
        description:
          'Send the token with later calls as `Authorization: Bearer <token>`. It is good for 10 minutes. The answer is the bare token as text, or a JSON string where `Accept` ranks `application/json` above `text/plain`.',
        security: [{}],
        body: LoginBody,
        response: {
          200: tokenAnswer,
          400: refusals[400],
          401: refusals[401],
          ...overload,
          ...tooMany,
        },
      },
    },
    async (request, reply) => {
      const { username, password } = request.body;
      const user = await logins.verify({ username, password, address: request.ip });
      const token = await tokens.issue(user, limits.tokenLifetimeS);
      reply.header('cache-control', 'no-store');
      return answerText(request, reply as never, token) as never;
    },
  );
}
