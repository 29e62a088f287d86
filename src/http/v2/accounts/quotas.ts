// Quotas of users: usage and limits, for the user and admins; admins set the limits of a user.
import type { Static } from 'typebox';
import { quotaKinds } from '../../../base/quota-kinds.ts';
import type { QuotaExceptions, QuotaReport } from '../../../domain/quotas/quota.ts';
import { UserParams } from '../../schemas/account-schemas.ts';
import { ExceptionsBody, QuotaSchema } from '../../schemas/quota-schemas.ts';
import { answerDone } from '../../server/preference.ts';
import { refusals, type TypedApp, writes } from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const tags = ['Users'];

export function registerQuotas(app: TypedApp, { quotas }: Services): void {
  app.get(
    '/users/me/quota',
    {
      schema: {
        tags,
        operationId: 'getOwnQuota',
        summary: 'Read how much you have and may have',
        description: 'Without a token: how much guest has, whose quotas all callers without a token share.',
        response: { 200: QuotaSchema, ...refusals },
      },
    },
    async (request) => toQuotaRecord(await quotas.ofActor(request.actor)) as never,
  );

  app.get(
    '/users/:user/quota',
    {
      schema: {
        tags,
        operationId: 'getUserQuota',
        summary: 'Read how much a user has and may have',
        description: 'For the user and admins.',
        params: UserParams,
        response: { 200: QuotaSchema, ...refusals },
      },
    },
    async (request) => toQuotaRecord(await quotas.of(request.actor, request.params.user.toLowerCase())) as never,
  );

  app.put(
    '/users/:user/quota',
    {
      schema: {
        tags,
        operationId: 'setUserQuota',
        summary: 'Set limits of a user',
        description: 'For admins. The limits apply at once.',
        params: UserParams,
        body: ExceptionsBody,
        response: writes,
      },
    },
    async (request, reply) => {
      await quotas.set(request.actor, request.params.user.toLowerCase(), toExceptions(request.body));
      return answerDone(reply) as never;
    },
  );
}

/** The quotas of a user as they are read. */
export function toQuotaRecord(report: QuotaReport): object {
  return Object.fromEntries(
    quotaKinds.map((kind) => {
      const { used, limit, isException } = report[kind];
      return [kind, { used, limit, ...(isException ? { exception: true } : {}) }];
    }),
  );
}

/** The kinds with a limit; undefined where there is no report. */
export function toBoundedQuotas(report: QuotaReport | undefined): object | undefined {
  if (report === undefined) return undefined;
  return quotaKinds.flatMap((kind) => {
    const { used, limit } = report[kind];
    return limit === undefined ? [] : [{ kind, used, limit }];
  });
}

function toExceptions(body: Static<typeof ExceptionsBody>): QuotaExceptions {
  return Object.fromEntries(quotaKinds.map((kind) => [kind, body[kind]])) as QuotaExceptions;
}
