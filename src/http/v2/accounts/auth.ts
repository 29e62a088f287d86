// Tokens (spec 4.1, contract 2).
import { limits } from '../../../config/limits.ts';
import { LoginBody, tokenAnswer } from '../../schemas/login-schemas.ts';
import { overload, refusals, type TypedApp, tooMany } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { answerToken } from '../../sign-in/logins.ts';

export function registerAuth(app: TypedApp, services: Services): void {
  app.post(
    '/auth/token',
    {
      config: { isOpen: true, ignoresToken: true },
      schema: {
        tags: ['Authentication'],
        operationId: 'createToken',
        summary: 'Get a token',
        description:
          'Send the token with later calls as `Authorization: Bearer <token>`. It is valid for 10 minutes. The answer is the bare token as text, or a JSON string where `Accept` ranks `application/json` above `text/plain`.',
        security: [{}],
        body: LoginBody,
        response: { 200: tokenAnswer, 400: refusals[400], 401: refusals[401], ...overload, ...tooMany },
      },
    },
    (request, reply) => {
      const login = { ...request.body, lifetimeS: limits.tokenLifetimeS };
      return answerToken(services, request, reply as never, login) as never;
    },
  );
}
