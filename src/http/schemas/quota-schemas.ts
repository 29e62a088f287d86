// Quotas of users: usage, limits, and limits of one user (contract 2). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { type QuotaKind, quotaKinds } from '../../base/quota-kinds.ts';

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

export const QuotaSchema = Type.Object(
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

export const ExceptionsBody = Type.Object(
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
