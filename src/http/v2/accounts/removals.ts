// Removing accounts (contract 2): by admins, and one's own.
import { Type } from 'typebox';
import { limits } from '../../../config/limits.ts';
import { OwnRemovalBody, UserParams } from '../../schemas/account-schemas.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { answerDone } from '../../server/preference.ts';
import { conflict, type TypedApp, tooMany, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { dropNulls } from '../drop-nulls.ts';

const tags = ['Users'];

export function registerRemovals(app: TypedApp, { removals }: Services): void {
  app.delete(
    '/users/:user',
    {
      schema: {
        tags,
        operationId: 'deleteUser',
        summary: 'Remove an account',
        description:
          'For admins. Tokens, API keys, MQTT sessions and shares of the user are removed too. A user who owns devices or gateways is removed only if `devices` says what happens to them; projects are treated likewise.',
        params: UserParams,
        querystring: Type.Object({
          devices: Type.Optional(
            Type.Unsafe<'delete' | 'transfer'>({
              type: 'string',
              enum: ['delete', 'transfer'],
              description: 'What happens to the devices of the user: they are removed, or handed over.',
              examples: ['transfer'],
            }),
          ),
          to: Type.Optional(
            boundedText(limits.knownUsernameCharsMax, {
              description: 'Username of the user who gets the devices that are handed over.',
              examples: ['binta'],
            }),
          ),
        }),
        response: { ...writes, ...conflict('The user owns devices, is guest, or is the last admin.') },
      },
    },
    async (request, reply) => {
      await removals.remove(request.actor, request.params.user.toLowerCase(), request.query);
      return answerDone(reply) as never;
    },
  );

  app.post(
    '/users/:user/removal',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'removeOwnUser',
        summary: 'Remove your own account',
        description:
          'With your password. Tokens, API keys, MQTT sessions, rules, messages, projects and shares of yours are removed too. Where you own devices or gateways, `devices` says what happens to them; what is handed over counts for the receiver as any handover.',
        params: UserParams,
        body: OwnRemovalBody,
        response: { ...writes, ...tooMany, ...conflict('You own devices, or are the last admin.') },
      },
    },
    async (request, reply) => {
      const removal = { ...request.body, address: request.ip, current: request.body.current };
      await removals.removeOwn(request.actor, request.params.user.toLowerCase(), removal);
      return answerDone(reply) as never;
    },
  );
}
