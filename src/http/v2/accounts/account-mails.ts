// Forgotten passwords and the confirmation of e-mail addresses (contract 2, decision 40). Secrets of links come in bodies
// alone, by POST: a program that opens the links of a mail spends none.
import { Type } from 'typebox';
import { EmailConfirmationBody, LinkedPasswordBody, PasswordResetBody } from '../../schemas/account-mail-schemas.ts';
import { UserParams } from '../../schemas/account-schemas.ts';
import { languageOf } from '../../server/language.ts';
import { answerAccepted, answerDone } from '../../server/preference.ts';
import { conflict, overload, refusals, type TypedApp, tooFast, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const tags = ['Authentication'];
/** Open where guests are refused, and to a page that still has a token that is over. */
const config = { isOpen: true, ignoresToken: true } as const;
const notSet = conflict('The service writes no such mails, or there is nothing to confirm.');
const accepted = { 202: Type.Null({ description: 'Taken.' }), ...refusals, ...overload, ...notSet };

export function registerAccountMails(app: TypedApp, services: Services): void {
  registerPasswords(app, services);
  registerConfirmation(app, services);
}

function registerPasswords(app: TypedApp, { passwordResets }: Services): void {
  app.post(
    '/auth/password-reset',
    {
      config,
      schema: {
        tags,
        operationId: 'requestPasswordReset',
        summary: 'Ask for a link to set a new password',
        description:
          'If the account has a confirmed e-mail address, a link is mailed there; it is good for 30 minutes and once. The answer and its time are the same for everybody. Only where the operator has set `DUNDUN_SMTP_URL` and `DUNDUN_BASE_URL`.',
        security: [{}],
        body: PasswordResetBody,
        response: accepted,
      },
    },
    (request, reply) => {
      const { account, language = languageOf(request as never) } = request.body;
      passwordResets.request({ account, language, address: request.ip });
      return answerAccepted(reply.header('cache-control', 'no-store')) as never;
    },
  );

  app.post(
    '/auth/new-password',
    {
      config,
      schema: {
        tags,
        operationId: 'setPasswordByLink',
        summary: 'Set a new password by a mailed link',
        description:
          'Ends all tokens, sessions and MQTT connections of the user; with `end_keys` the API keys too. 404: the link was used, is too old, or the address has changed since.',
        security: [{}],
        body: LinkedPasswordBody,
        response: { ...writes, ...notSet },
      },
    },
    async (request, reply) => {
      const { secret, password, end_keys: endKeys = false } = request.body;
      const origin = { language: languageOf(request as never), address: request.ip };
      await passwordResets.setPassword(secret, { password, endKeys, ...origin });
      return answerDone(reply.header('cache-control', 'no-store')) as never;
    },
  );
}

function registerConfirmation(app: TypedApp, { confirmations }: Services): void {
  app.post(
    '/users/:user/email/confirmation',
    {
      schema: {
        tags: ['Users'],
        operationId: 'requestEmailConfirmation',
        summary: 'Have the e-mail address of a user confirmed',
        description:
          'For the user and admins. A link is mailed to the address of the account; it is good for 30 minutes and once.',
        params: UserParams,
        response: { ...accepted, ...tooFast },
      },
    },
    async (request, reply) => {
      await confirmations.ask(request.actor, request.params.user.toLowerCase(), languageOf(request as never));
      return answerAccepted(reply) as never;
    },
  );

  app.post(
    '/auth/email-confirmation',
    {
      config,
      schema: {
        tags,
        operationId: 'confirmEmail',
        summary: 'Confirm an e-mail address by a mailed link',
        description: '404: the link was used, is too old, or the address has changed since.',
        security: [{}],
        body: EmailConfirmationBody,
        response: { ...writes, ...notSet },
      },
    },
    async (request, reply) => {
      await confirmations.confirm(request.body.secret);
      return answerDone(reply.header('cache-control', 'no-store')) as never;
    },
  );
}
