// The shapes of notifications on the wire (spec 2.5, contract 7): they describe the API and check what can be checked
// without knowing the form of an action; the domain checks the rest and names each place.
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { channels, statuses } from '../../domain/notifications/rules/notification.ts';
import { boundedText, descriptionText, jsonBytes, tooLargeKeyword } from './text-bounds.ts';

const timestamp = (description: string) =>
  boundedText(limits.wordCharsMax, { description, format: 'date-time', examples: ['2016-06-08T18:20:27Z'] });
const code = (description: string, example: string) => Type.Optional(Type.String({ description, examples: [example] }));
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
    description: `\`active\`, or \`inactive\` while it is paused.${note}`,
    examples: ['active'],
  });

const grammar =
  'Comparisons of sensor ids with numbers or quoted texts (`TC<40`, also `<= > >= == !=`), lists `A==1,2`, ranges `A==10..30`, `;` or `&&` for and, `||` for or, parentheses, a bare `A` for "has a value". An id that holds `!=` or `||` goes in quotes. Empty: always true. A sensor that is not in the datapoint counts with its last value on the same device; without one, no comparison holds.';

const ConditionSchema = Type.Object(
  {
    devices: Type.Optional(texts('Ids of the devices watched; they need not exist yet.', ['field-3'])),
    sensors: Type.Optional(texts('Ids of the sensors used.', ['TC'])),
    expression: Type.Optional(
      boundedText(limits.expressionCharsMax, { description: grammar, examples: ['TC<40;TC1>10'] }),
    ),
  },
  {
    title: 'NotificationCondition',
    description: 'When the notification fires. Read back as it was given.',
    examples: [{ devices: ['field-3'], sensors: ['TC'], expression: 'TC<10' }],
  },
);

const messageBound = { maxLength: limits.messageCharsMax, [tooLargeKeyword]: true };
const messageFields = {
  usernames: texts('Users who get the message.', ['awa']),
  channels: Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...channels], examples: ['sms'] }), {
    maxItems: limits.notificationChannelsMax,
    description: 'How it is sent. `none` records that the notification fired, and sends nothing.',
  }),
  message: Type.String({
    ...messageBound,
    description: `The text. \`{id}\` becomes the id of the sensor, \`{<sensor id>}\` the last value of that sensor; \`$\{…}\` the same.`,
    examples: ['{id} is at {TC} °C'],
  }),
};
const MessageSchema = Type.Object(messageFields, {
  title: 'Message',
  description: 'What is sent, to whom, and how.',
  examples: [{ usernames: ['awa'], channels: ['sms'], message: '{id} is at {TC} °C' }],
});

const SocialActionSchema = Type.Object(
  { type: Type.Literal('SocialAction', { description: 'Sends a message.' }), value: MessageSchema },
  { title: 'SocialAction', description: 'The same as the bare message, with its type.' },
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
      { title: 'Actuation', description: 'Which actuator is set to what, with the rights of the author.' },
    ),
  },
  { title: 'ActuationAction', description: 'Sets an actuator.' },
);

const described = {
  description:
    'What happens when it fires: a message, bare or as `SocialAction`, or the setting of an actuator. Read back as it was given.',
};
const actions = [MessageSchema, SocialActionSchema, ActuationActionSchema];

const ActionSchema = Type.Unsafe<object>({ ...described, anyOf: actions });

const editableFields = {
  description: descriptionText('Free text.', 'Frost in field 3'),
  expires: Type.Optional(timestamp('After this the notification is no longer sent; UTC. Left out: never.')),
  throttling: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: limits.throttlingSMax,
      description: 'Seconds between two sendings at least; 3600 means at most one an hour. Left out: 0.',
      examples: [3600],
    }),
  ),
};

/** Fields beyond spec.md. */
const seconds = (minimum: number, description: string, example: number) =>
  Type.Optional(Type.Integer({ minimum, maximum: limits.ruleSecondsMax, description, examples: [example] }));

const beyondFields = {
  hysteresis: Type.Optional(
    boundedText(limits.expressionCharsMax, {
      description:
        'A second expression: after the notification has fired, it fires again only once this was true. `TC<2` with the hysteresis `TC>4` tells of each frost once.',
      examples: ['TC>4'],
    }),
  ),
  for: seconds(0, 'Seconds that the condition must hold without a break before it counts.', 600),
  silence: seconds(
    1,
    'It fires, once, when one of its sensors has sent nothing for so many seconds. With an empty expression for nothing else.',
    3600,
  ),
  recovery_message: Type.Optional(
    Type.String({
      ...messageBound,
      description:
        'Sent once when the condition ends after it fired (with a hysteresis: when that is true), or when a silent sensor sends again. It is not counted.',
      examples: ['{id} is well again: {TC} °C'],
    }),
  ),
};

/** RFC 3339 in many spellings comes in; the domain reads it. */
const ExpiresInput = Type.Optional(
  boundedText(limits.wordCharsMax, {
    description:
      'After this the notification is no longer sent: RFC 3339, UTC where it names no zone. Left out: never.',
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
    description: 'A notification to make: `condition` and `action` are required.',
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

/** Their bound in bytes is that of the domain, which tells it in its own words. */
const anyObject = Type.Object({}, jsonBytes(limits.bodyBytesMax));

/** What is in a condition and an action the domain checks: it knows the form that was meant, a union blames them all. */
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
    condition: anyChange('Fields of the condition to change; those that are not named stay.'),
    action: anyChange(
      'Fields of `action` to change; those that are not named stay. One of another form or type replaces the whole.',
    ),
  },
  {
    title: 'NotificationChange',
    description: 'The fields to change (JSON merge patch, RFC 7396); `null` takes one away, so that its default holds.',
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
    throttling: Type.Integer({ description: 'Seconds between two sendings at least.', examples: [3600] }),
    status: StatusSchema(' A notification that has expired keeps its status.'),
    expired: Type.Optional(
      Type.Literal(true, {
        description: 'There when `expires` has passed: it is no longer sent, whatever its status.',
      }),
    ),
    times_sent: Type.Integer({ description: 'How often it has fired.', examples: [0] }),
    last_notification: Type.Optional(timestamp('When it fired last, UTC; absent before the first time.')),
    last_notif: Type.Optional(timestamp('Another name for `last_notification`.')),
    last_success: Type.Optional(timestamp('When a message was last taken by its provider, UTC.')),
    last_success_code: code('What the provider answered then.', '201'),
    last_failure: Type.Optional(timestamp('When a message last failed, UTC.')),
    last_failure_code: code('What the provider answered then.', '401'),
    last_failure_reason: code('Why it failed.', 'no such user'),
  },
  { title: 'Notification', description: 'A rule: when its condition holds, a message is sent or an actuator set.' },
);

const range = (words: string) =>
  Type.Optional(
    boundedText(limits.wordCharsMax, {
      description: `${words}, RFC 3339; by the time of measuring.`,
      examples: ['2016-06-01T00:00:00Z'],
    }),
  );

export const DryRunBody = Type.Object(
  {
    id: Type.Optional(NotificationIdSchema),
    condition: anyChange('As of a notification; needed without an `id`.'),
    action: anyChange('As of a notification.'),
    throttling: editableFields.throttling,
    ...beyondFields,
    date_from: range('Tried on datapoints from here on'),
    date_to: range('Tried on datapoints up to here'),
  },
  {
    title: 'NotificationTest',
    description: 'The notification to try, by its id or by its fields, and on what.',
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
            description: '`recovers` where its `recovery_message` would have been sent.',
            examples: ['fires'],
          }),
          device_id: Type.String({ description: 'Id of the device.', examples: ['field-3'] }),
          sensor_id: Type.String({ description: 'The sensor whose value, or silence, it was.', examples: ['TC'] }),
          message: Type.Optional(
            Type.String({ description: 'What would have been sent.', examples: ['TC is at 21.5 °C'] }),
          ),
          actuation: Type.Optional(
            Type.Unknown({
              description: 'What would have been set.',
              examples: [{ device_id: 'field-3', actuator_id: 'valve-1', actuator_value: true }],
            }),
          ),
        },
        { title: 'RehearsedFiring', description: 'A time at which it would have fired.' },
      ),
      { description: `In order of time; at most ${limits.dryRunFiringsMax}.` },
    ),
    datapoints: Type.Integer({ description: 'Datapoints that were looked at.', examples: [120] }),
    complete: Type.Boolean({
      description: 'False when there is more than is looked at, or told, at once.',
      examples: [true],
    }),
  },
  {
    title: 'NotificationTestReport',
    description: 'When a notification would have fired, and what it would have sent.',
  },
);
