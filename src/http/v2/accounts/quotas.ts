// Quotas of users: usage and limits, for the user and admins; admins set the limits of a user.
import { type Static, Type } from 'typebox';
import { type QuotaKind, quotaKinds } from '../../../base/quota-kinds.ts';
import type { QuotaExceptions, QuotaReport } from '../../../domain/quotas/quota.ts';
import { UserParams } from '../../schemas/account-schemas.ts';
import { answerDone } from '../../server/preference.ts';
import { refusals, type Services, type TypedApp, writes } from '../../server/routes.ts';

const tags = ['Users'];

const kindWords: Readonly<Record<QuotaKind, string>> = {
  devices: 'Devices owned.',
  sensors: 'Sensors of these devices.',
  gateways: 'Gateways owned.',
  projects: 'Projects owned.',
  rules: 'Notification rules written.',
  keys: 'API keys made.',
  mqtt_sessions: 'MQTT sessions that are stored.',
  description_bytes: 'Bytes of the texts of these records: names, `meta`, `calib`, `location`, conditions …',
  datapoint_bytes:
    'Bytes of datapoints pushed and still stored, of every device: 16 a datapoint, and the characters of values that are no numbers.',
  mqtt_session_bytes: 'Bytes of the subscriptions of MQTT sessions, and of the messages that wait for them.',
  retained_bytes: 'Bytes of retained MQTT messages.',
  datapoints_per_day: 'Datapoints pushed today (UTC).',
};

const StateSchema = (kind: QuotaKind) =>
  Type.Object(
    {
      used: Type.Integer({ description: 'The amount that is used.', examples: [12] }),
      limit: Type.Optional(
        Type.Integer({ description: 'The amount that is allowed; absent: no limit.', examples: [100000] }),
      ),
      exception: Type.Optional(
        Type.Boolean({ description: 'True: an admin set this limit for this user.', examples: [true] }),
      ),
    },
    { description: kindWords[kind] },
  );

const QuotaSchema = Type.Object(
  Object.fromEntries(quotaKinds.map((kind) => [kind, StateSchema(kind)])) as Record<
    QuotaKind,
    ReturnType<typeof StateSchema>
  >,
  { title: 'Quotas', description: 'How much a user has of each kind, and may have.' },
);

const ExceptionSchema = (kind: QuotaKind) =>
  Type.Optional(
    Type.Unsafe<number | 'none' | null>({
      anyOf: [
        { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'The limit.' },
        { type: 'string', enum: ['none'], description: 'No limit.' },
        { type: 'null', description: 'The default limit.' },
      ],
      description: `${kindWords[kind]} A number, \`none\` for no limit, or null for the default; left out: unchanged.`,
      examples: [5000],
    }),
  );

const ExceptionsBody = Type.Object(
  Object.fromEntries(quotaKinds.map((kind) => [kind, ExceptionSchema(kind)])) as Record<
    QuotaKind,
    ReturnType<typeof ExceptionSchema>
  >,
  {
    title: 'QuotaExceptions',
    description: 'Limits of one user instead of the defaults. Existing records beyond a limit are kept.',
    examples: [{ devices: 5000, datapoint_bytes: 'none', rules: null }],
  },
);

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

function toQuotaRecord(report: QuotaReport): object {
  return Object.fromEntries(
    quotaKinds.map((kind) => {
      const { used, limit, isException } = report[kind];
      return [kind, { used, limit, ...(isException ? { exception: true } : {}) }];
    }),
  );
}

/** The kinds with a limit; undefined where nothing is shown. */
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
