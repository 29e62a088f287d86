// Notifications, their dry runs and their messages (spec 2.5, contract 7). The schemas describe the API and validate all
// but condition and action: those have several forms, and the domain, which knows the form, names the wrong field.
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { channels, statuses } from '../../domain/notifications/rules/notification.ts';
import { boundedText, descriptionText, jsonBytes, tooLargeKeyword } from './text-bounds.ts';

const timestamp = (description: string) =>
  boundedText(limits.wordCharsMax, { description, format: 'date-time', examples: ['2016-06-08T18:20:27Z'] });
const code = (description: string, example: string) => Type.Optional(Type.String({ description, examples: [example] }));
const status = (description: string, example: number) =>
  Type.Optional(Type.Integer({ description, examples: [example] }));
const texts = (description: string, examples: readonly string[]) =>
  Type.Array(boundedText(limits.idCharsMax, { examples: [...examples] }), {
    maxItems: limits.notificationEntriesMax,
    description,
  });

export const NotificationIdSchema = boundedText(limits.idCharsMax, {
  description: 'Id of the notification: 24 hex digits, assigned by the service.',
  examples: ['5f0c3e9a7b1d2c4e6a8b9c0d'],
});

export const NotificationParams = Type.Object({ notification: NotificationIdSchema });

const StatusSchema = (note: string) =>
  Type.Unsafe<(typeof statuses)[number]>({
    type: 'string',
    enum: [...statuses],
    description: `\`active\`, or \`inactive\` while the notification is paused.${note}`,
    examples: ['active'],
  });

const grammar =
  'Compares sensors, named by their ids, with numbers or quoted texts: `TC<40`, also with `<= > >= == !=`. `A==1,2` compares with a list, `A==10..30` with a range, and a bare `A` is true if the sensor has a value. `;` or `&&` means and, `||` means or; parentheses group. Ids that contain `!=` or `||` must be quoted. An empty expression is always true. Each sensor stands for its last value on the same device; without a value every comparison is false.';

const ConditionSchema = Type.Object(
  {
    devices: Type.Optional(texts('Ids of the watched devices; they need not exist yet.', ['field-3'])),
    sensors: Type.Optional(texts('Ids of the watched sensors.', ['TC'])),
    expression: Type.Optional(
      boundedText(limits.expressionCharsMax, { description: grammar, examples: ['TC<40;TC1>10'] }),
    ),
  },
  {
    title: 'NotificationCondition',
    description: 'When the notification fires. Reads return it as it was given.',
    examples: [{ devices: ['field-3'], sensors: ['TC'], expression: 'TC<10' }],
  },
);

const messageBound = { maxLength: limits.messageCharsMax, [tooLargeKeyword]: true };
const messageFields = {
  usernames: texts('The users who receive the message.', ['awa']),
  channels: Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...channels], examples: ['sms'] }), {
    maxItems: limits.notificationChannelsMax,
    description: 'The channels by which it is sent. `none` sends nothing and only records that the notification fired.',
  }),
  message: Type.String({
    ...messageBound,
    description: `The text. \`{id}\` is replaced by the id of the sensor that made the notification fire, \`{<sensor id>}\` by the last value of that sensor; \`$\{…}\` does the same. Where the device has no sensor of that id: \`{device}\` is its name (\`{device_id}\` its id), \`{sensor}\` the name of the sensor, \`{value}\` its last value, \`{unit}\` its unit, \`{time}\` when it fired, \`{link}\` the page of the sensor (a path only where the service has no \`DUNDUN_BASE_URL\`).`,
    examples: ['{id} is at {TC} °C'],
  }),
};
const MessageSchema = Type.Object(messageFields, {
  title: 'Message',
  description: 'A message: text, recipients and channels.',
  examples: [{ usernames: ['awa'], channels: ['sms'], message: '{id} is at {TC} °C' }],
});

const SocialActionSchema = Type.Object(
  { type: Type.Literal('SocialAction', { description: 'Sends a message.' }), value: MessageSchema },
  { title: 'SocialAction', description: 'A message, wrapped with its type.' },
);

const ActuationActionSchema = Type.Object(
  {
    type: Type.Literal('ActuationAction', { description: 'Sets an actuator.' }),
    value: Type.Object(
      {
        device_id: boundedText(limits.idCharsMax, {
          description: 'Id of the device; it need not exist yet.',
          examples: ['field-3'],
        }),
        actuator_id: boundedText(limits.idCharsMax, { description: 'Id of its actuator.', examples: ['valve-1'] }),
        actuator_value: Type.Unknown({
          ...jsonBytes(limits.notificationBytesMax),
          description: 'The value to set, any JSON. In a text, variables are replaced as in a message.',
          examples: [true],
        }),
      },
      { title: 'Actuation', description: 'The actuator and its new value, set with the rights of the author.' },
    ),
  },
  { title: 'ActuationAction', description: 'Sets an actuator.' },
);

const described = {
  description:
    'What happens when the notification fires: it sends a message, bare or as `SocialAction`, or sets an actuator. Reads return it as it was given.',
};
const actions = [MessageSchema, SocialActionSchema, ActuationActionSchema];

const ActionSchema = Type.Unsafe<object>({ ...described, anyOf: actions });

const editableFields = {
  description: descriptionText('Free text.', 'Frost in field 3'),
  expires: Type.Optional(timestamp('When the notification stops firing, UTC; absent: never.')),
  throttling: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: limits.throttlingSMax,
      description: 'Minimum time between two firings, in seconds; 3600 means at most one in an hour. Left out: 0.',
      examples: [3600],
    }),
  ),
};

const seconds = (minimum: number, description: string, example: number) =>
  Type.Optional(Type.Integer({ minimum, maximum: limits.ruleSecondsMax, description, examples: [example] }));

/** Fields beyond spec.md (contract 10). */
const beyondFields = {
  hysteresis: Type.Optional(
    boundedText(limits.expressionCharsMax, {
      description:
        'A second expression: after the notification has fired, it fires again only after this expression was true. `TC<2` with the hysteresis `TC>4` reports each frost once.',
      examples: ['TC>4'],
    }),
  ),
  for: seconds(0, 'Seconds for which the condition must hold without a break before the notification fires.', 600),
  silence: seconds(
    1,
    'The notification fires once when one of its sensors has sent nothing for this many seconds. With an empty expression it fires for no other reason.',
    3600,
  ),
  recovery_message: Type.Optional(
    Type.String({
      ...messageBound,
      description:
        'Sent once after a firing: when the condition ends (with `hysteresis`: when that expression is true), or when the silent sensor sends again. It does not count as a firing.',
      examples: ['{id} is well again: {TC} °C'],
    }),
  ),
};

/** Without `format`, because the domain parses more spellings of RFC 3339 than the format allows. */
const ExpiresInput = Type.Optional(
  boundedText(limits.wordCharsMax, {
    description: 'When the notification stops firing: RFC 3339; UTC if it names no zone. Left out: never.',
    examples: ['2036-06-08T18:20:27Z'],
  }),
);

const newFields = {
  ...editableFields,
  ...beyondFields,
  expires: ExpiresInput,
  status: Type.Optional(StatusSchema(' Left out: `active`.')),
};

const NewNotificationSchema = Type.Object(
  { ...newFields, condition: ConditionSchema, action: ActionSchema },
  {
    title: 'NewNotification',
    description: 'A notification to create; `condition` and `action` are required.',
    'x-examples': {
      message: {
        summary: 'A message',
        value: {
          description: 'Frost in field 3',
          condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<2' },
          action: { usernames: ['awa'], channels: ['sms'], message: '{id} is at {TC} °C' },
          throttling: 3600,
          expires: '2036-06-08T18:20:27Z',
        },
      },
      actuation: {
        summary: 'The setting of an actuator',
        value: {
          description: 'Water field 3 when it is dry',
          condition: { devices: ['field-3'], sensors: ['SM'], expression: 'SM==0..20' },
          action: {
            type: 'ActuationAction',
            value: { device_id: 'field-3', actuator_id: 'valve-1', actuator_value: true },
          },
        },
      },
    },
  },
);

/** An object that the domain validates; its bound is that of bodies, because the domain refuses smaller ones itself. */
const anyObject = Type.Object({}, jsonBytes(limits.bodyBytesMax));

/**
 * Condition and action are any objects here and validated by the domain: a union schema would report faults of every
 * form, the domain only those of the form that the caller meant. Clients see the exact schema (`x-content`).
 */
export const NotificationBody = Type.Object(
  { ...newFields, condition: anyObject, action: anyObject },
  { 'x-content': { 'application/json': { schema: NewNotificationSchema } } },
);
export type NotificationBody = Static<typeof NotificationBody>;

const nullable = (schema: object) => {
  const { description } = schema as { readonly description: string };
  return Type.Optional(Type.Unsafe<never>({ description, anyOf: [schema, { type: 'null' }] }));
};
const anyChange = (description: string) =>
  Type.Optional(Type.Unsafe<object>({ type: 'object', ...jsonBytes(limits.bodyBytesMax), description }));

export const NotificationPatchBody = Type.Object(
  {
    description: nullable(editableFields.description),
    expires: nullable(ExpiresInput),
    throttling: nullable(editableFields.throttling),
    status: nullable(StatusSchema('')),
    hysteresis: nullable(beyondFields.hysteresis),
    for: nullable(beyondFields.for),
    silence: nullable(beyondFields.silence),
    recovery_message: nullable(beyondFields.recovery_message),
    condition: anyChange('Fields of the condition to change; the others stay as they are.'),
    action: anyChange(
      'Fields of the action to change; the others stay as they are. An action of another form or type replaces the whole action.',
    ),
  },
  {
    title: 'NotificationChange',
    description:
      'The fields to change (JSON merge patch, RFC 7396). `null` removes a field, so that its default applies.',
    examples: [{ condition: { expression: 'TC<4' }, throttling: 7200 }],
  },
);

export const NotificationSchema = Type.Object(
  {
    id: NotificationIdSchema,
    owner: Type.String({ description: 'Username of the author.', examples: ['awa'] }),
    ...editableFields,
    ...beyondFields,
    condition: ConditionSchema,
    action: ActionSchema,
    throttling: Type.Integer({ description: 'Minimum time between two firings, in seconds.', examples: [3600] }),
    status: StatusSchema(' A notification that has expired keeps its status.'),
    expired: Type.Optional(
      Type.Literal(true, {
        description: 'Present when `expires` has passed: the notification does not fire, whatever its status.',
      }),
    ),
    times_sent: Type.Integer({ description: 'Number of firings.', examples: [0] }),
    last_notification: Type.Optional(timestamp('When it fired last, UTC; absent before the first firing.')),
    last_notif: Type.Optional(timestamp('Another name for `last_notification`.')),
    last_success: Type.Optional(timestamp('When a provider accepted a message last, UTC.')),
    last_success_code: status(
      'The status that the provider answered then; 204 for an actuator that was set, 200 for the channel `none`.',
      201,
    ),
    last_failure: Type.Optional(timestamp('When a message failed last, UTC.')),
    last_failure_code: status('The status that the provider answered then; absent where none came.', 401),
    last_failure_reason: code('Why the message failed.', 'no such user'),
  },
  { title: 'Notification', description: 'A rule: when its condition holds, it sends a message or sets an actuator.' },
);

const range = (words: string) =>
  Type.Optional(
    boundedText(limits.wordCharsMax, {
      description: `${words}: RFC 3339, compared with the time of measuring.`,
      examples: ['2016-06-01T00:00:00Z'],
    }),
  );

export const DryRunBody = Type.Object(
  {
    id: Type.Optional(NotificationIdSchema),
    condition: anyChange('The condition, as in a notification; required without an `id`.'),
    action: anyChange('The action, as in a notification.'),
    throttling: editableFields.throttling,
    ...beyondFields,
    date_from: range('The first time whose datapoints are evaluated'),
    date_to: range('The last time whose datapoints are evaluated'),
  },
  {
    title: 'NotificationTest',
    description: 'A notification, by its id or by its fields, and the stored datapoints to evaluate it for.',
    examples: [
      {
        condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<40' },
        action: { usernames: ['awa'], channels: ['sms'], message: '{id} is at {TC} °C' },
        throttling: 3600,
        date_from: '2016-06-01T00:00:00Z',
      },
    ],
  },
);

export const DryRunSchema = Type.Object(
  {
    firings: Type.Array(
      Type.Object(
        {
          timestamp: timestamp('When it would have fired, UTC.'),
          kind: Type.Unsafe<'fires' | 'recovers'>({
            type: 'string',
            enum: ['fires', 'recovers'],
            description: '`fires`, or `recovers` where the `recovery_message` would have been sent.',
            examples: ['fires'],
          }),
          device_id: Type.String({ description: 'Id of the device.', examples: ['field-3'] }),
          sensor_id: Type.String({ description: 'The sensor whose value or silence caused it.', examples: ['TC'] }),
          message: Type.Optional(
            Type.String({ description: 'The text that would have been sent.', examples: ['TC is at 21.5 °C'] }),
          ),
          actuation: Type.Optional(
            Type.Unknown({
              description: 'The actuator that would have been set, and its value.',
              examples: [{ device_id: 'field-3', actuator_id: 'valve-1', actuator_value: true }],
            }),
          ),
        },
        { title: 'DryRunFiring', description: 'A firing or recovery that would have happened.' },
      ),
      { description: `In order of time; at most ${limits.dryRunFiringsMax}.` },
    ),
    datapoints: Type.Integer({ description: 'Number of datapoints that were evaluated.', examples: [120] }),
    complete: Type.Boolean({
      description: 'False when there are more datapoints or firings than one test evaluates or reports.',
      examples: [true],
    }),
  },
  {
    title: 'NotificationTestReport',
    description: 'When a notification would have fired, and what it would have sent.',
  },
);
