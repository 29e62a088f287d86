// The shapes of users, API keys and passwords on the wire (spec 2.6, contract 2); see schemas.ts for how they are used.
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { keyScopeNames } from '../../domain/keys/key.ts';
import { type MessagesFrom, messagesFrom } from '../../domain/users/user.ts';
import { idPattern } from './ids.ts';
import { UsernameSchema } from './schemas.ts';
import { boundedText, jsonBytes } from './text-bounds.ts';

const UserIdSchema = boundedText(limits.wordCharsMax, {
  description: 'Id of the user, a UUID given by the service.',
  examples: ['5f0c1b9a-52c8-4d1e-9a4e-0d3a6b1f7c21'],
});
const KeyIdSchema = boundedText(limits.wordCharsMax, {
  description: 'Id of the API key, given by the service.',
  examples: ['0b8f9a52-6c1d-4e0f-8a77-2f6f5f5d9c10'],
});

export const UserParams = Type.Object({ user: UserIdSchema });
export const KeyParams = Type.Object({ key: KeyIdSchema });

const text = (description: string, example: string) =>
  boundedText(limits.profileTextCharsMax, { description, examples: [example] });
const list = (description: string, entry: string) =>
  Type.Array(Type.String({ maxLength: limits.profileTextCharsMax, examples: [entry] }), {
    maxItems: limits.profileEntriesMax,
    description,
    examples: [[entry]],
  });

/** A value of each field of a profile, or an entry of its list. */
export const profileExamples = {
  firstName: 'Awa',
  lastName: 'Diop',
  email: 'awa@dundun.example',
  phone: '+221770000000',
  address: 'Rue 10, Saint-Louis',
  facebook: 'awa.diop',
  twitter: 'awadiop',
  telegram: '123456789',
  webhook: 'https://awa.dundun.example/messages',
  messages_from: 'sharers',
};

/** Each field of a profile as it is alone. */
export const profileFields = {
  firstName: text('First name.', profileExamples.firstName),
  lastName: text('Last name.', profileExamples.lastName),
  email: text('Address for e-mail.', profileExamples.email),
  phone: list('Phone numbers with country code; needed for messages by sms and voice.', profileExamples.phone),
  address: list('Physical addresses.', profileExamples.address),
  facebook: list('Facebook ids.', profileExamples.facebook),
  twitter: list('Twitter account ids, without the `@`.', profileExamples.twitter),
  telegram: list('Chats with the Telegram bot, by number, or channels by `@name`.', profileExamples.telegram),
  webhook: list('Addresses that messages are posted to.', profileExamples.webhook),
  messages_from: Type.Unsafe<MessagesFrom>({
    type: 'string',
    enum: [...messagesFrom],
    description:
      'Who may send them messages: everyone who signed in (`everyone`, as when it is absent), those they share a device with (`sharers`), only themselves (`self`).',
    examples: [profileExamples.messages_from],
  }),
};

export const AdminSchema = Type.Boolean({ description: 'Whether they may do everything.', examples: [false] });

const optionalProfile = {
  firstName: Type.Optional(profileFields.firstName),
  lastName: Type.Optional(profileFields.lastName),
  email: Type.Optional(profileFields.email),
  phone: Type.Optional(profileFields.phone),
  address: Type.Optional(profileFields.address),
  facebook: Type.Optional(profileFields.facebook),
  twitter: Type.Optional(profileFields.twitter),
  telegram: Type.Optional(profileFields.telegram),
  webhook: Type.Optional(profileFields.webhook),
  messages_from: Type.Optional(profileFields.messages_from),
};

const createdTime = Type.Integer({
  minimum: 0,
  maximum: 8_640_000_000_000_000,
  description: 'When the account was made, milliseconds since 1970 UTC.',
  examples: [1_465_410_027_000],
});

export const UserSchema = Type.Object(
  {
    id: UserIdSchema,
    createdTime: Type.Optional(createdTime),
    username: UsernameSchema,
    ...optionalProfile,
    webhook_key: Type.Optional(
      Type.String({
        description:
          'What messages to your webhooks are signed with, as Standard Webhooks says: `webhook-signature` is the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, joined by dots. For a day after the key was changed there are two signatures, of the new key and of the one before. Shown to the user alone.',
        examples: ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='],
      }),
    ),
    admin: Type.Optional(AdminSchema),
    quota: Type.Optional(
      Type.Array(
        Type.Object({
          kind: Type.String({ description: 'Which, as `GET /users/{user}/quota` names them.', examples: ['devices'] }),
          used: Type.Integer({ description: 'How much they have.', examples: [12] }),
          limit: Type.Integer({ description: 'How much they may have.', examples: [100000] }),
        }),
        { description: 'Of each kind that has a limit; for admins, in the list with `full=true`.' },
      ),
    ),
  },
  {
    title: 'User',
    description:
      'An account. The user and admins see all fields; others who signed in `id`, `username`, `firstName`, `lastName`, `createdTime`; guest `id` and `username`.',
  },
);

export const WebhookKeySchema = Type.Object(
  {
    webhook_key: Type.Optional(
      Type.String({
        description: 'The new key; shown to the user alone.',
        examples: ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='],
      }),
    ),
    previous_until: Type.String({
      format: 'date-time',
      description:
        'Until then messages are signed with the key before too: `webhook-signature` holds both signatures, with a space between.',
      examples: ['2026-11-24T12:00:00Z'],
    }),
  },
  { title: 'WebhookKey', description: 'A new key for the webhooks of a user.' },
);

export const UserBody = Type.Object(
  {
    username: boundedText(limits.usernameCharsMax, {
      description: `1 to ${limits.usernameCharsMax} characters, none of / + # ? and no control characters; it stays.`,
      examples: ['awa'],
    }),
    password: Type.Optional(
      boundedText(limits.passwordCharsMax, {
        description: 'At least 8 characters, or as the service is set; none of the ten thousand most common passwords.',
        examples: ['talking drum'],
      }),
    ),
    ...optionalProfile,
    admin: Type.Optional(AdminSchema),
    id: Type.Optional(
      boundedText(limits.wordCharsMax, {
        format: 'uuid',
        description: 'A UUID that an admin brings along from elsewhere; left out, one is made.',
        examples: ['5f0c1b9a-52c8-4d1e-9a4e-0d3a6b1f7c21'],
      }),
    ),
    passwordHash: Type.Optional(
      boundedText(limits.passwordHashCharsMax, {
        description: 'In place of the password, a PHC string of argon2id that an admin brings along.',
        examples: ['$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
      }),
    ),
    createdTime: Type.Optional(createdTime),
  },
  {
    title: 'NewUser',
    description: 'An account to make; `username` and `password` are required, or `passwordHash` from an admin.',
    examples: [
      {
        username: 'awa',
        password: 'talking drum',
        firstName: 'Awa',
        lastName: 'Diop',
        email: 'awa@dundun.example',
        phone: ['+221770000000'],
      },
    ],
  },
);
export type UserBody = Static<typeof UserBody>;

export const UserChangeBody = Type.Object(
  { username: Type.Optional(UsernameSchema), ...optionalProfile, admin: Type.Optional(AdminSchema) },
  {
    title: 'UserChange',
    description:
      'The fields to change; the others stay. An empty text or list takes a field away. The username stays as it is.',
    examples: [{ firstName: 'Awa', phone: ['+221770000000', '+221330000000'] }],
  },
);

const NewPassword = Type.Object(
  {
    current: Type.Optional(
      boundedText(limits.knownPasswordCharsMax, {
        description: 'The present password; needed for your own.',
        examples: ['talking drum'],
      }),
    ),
    password: boundedText(limits.passwordCharsMax, {
      description: 'The new password; none of the ten thousand most common ones.',
      examples: ['another drum'],
    }),
  },
  {
    title: 'NewPassword',
    description: 'A new password, and the present one, which an admin leaves out for somebody else.',
  },
);

/** Described here, read by the route: bare text from an admin, an object from oneself. */
export const PasswordBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: {
        anyOf: [NewPassword, boundedText(limits.passwordCharsMax, { description: 'The new password, from an admin.' })],
        description: 'Both passwords, or from an admin the new one alone.',
        'x-examples': {
          own: { summary: 'Your own', value: { current: 'talking drum', password: 'another drum' } },
          others: { summary: 'As an admin', value: 'another drum' },
        },
      },
    },
    'text/plain': {
      schema: boundedText(limits.passwordCharsMax, {
        description: 'The bare new password, from an admin.',
        examples: ['another drum'],
      }),
    },
  },
});

/** A list of texts, or one of them alone. */
export const listField = (shape: object, entry: string) =>
  Type.Unsafe<unknown>({
    'x-content': {
      'application/json': { schema: { ...jsonBytes(limits.profileListBytesMax), ...shape, examples: [[entry]] } },
      'text/plain': {
        schema: boundedText(limits.profileTextCharsMax, { description: 'One entry alone, bare.', examples: [entry] }),
      },
    },
  });

const scopeNames = keyScopeNames.map((name) => `\`${name}\``).join(', ');
const keyFields = {
  name: Type.String({
    minLength: 1,
    maxLength: limits.nameCharsMax,
    description: 'What the key is for, in your words.',
    examples: ['gateway in field 3'],
  }),
  scopes: Type.Optional(
    Type.Array(Type.String({ enum: [...keyScopeNames], examples: ['devices-data:create'] }), {
      minItems: 1,
      maxItems: 50,
      description: `What the key may do at most, of ${scopeNames}. Left out: all that you may do with devices, gateways and projects, though not as an admin.`,
      examples: [['devices:view', 'devices-data:create']],
    }),
  ),
  devices: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: limits.idCharsMax, pattern: idPattern, examples: ['field-3'] }), {
      minItems: 1,
      maxItems: limits.keyDevicesMax,
      description: 'The only devices that the key reaches, by id. Left out: all.',
      examples: [['field-3']],
    }),
  ),
  expires: Type.Optional(
    boundedText(limits.wordCharsMax, {
      description: 'When the key is good no more, RFC 3339. Left out: it lasts until it is revoked.',
      examples: ['2099-01-01T00:00:00Z'],
    }),
  ),
};

export const KeyBody = Type.Object(keyFields, {
  title: 'NewKey',
  description: 'An API key to make; only `name` is required.',
  examples: [{ name: 'gateway in field 3', scopes: ['devices:view', 'devices-data:create'], devices: ['field-3'] }],
});
export type KeyBody = Static<typeof KeyBody>;

export const MadeKeySchema = Type.Object(
  {
    id: KeyIdSchema,
    key: Type.String({
      description: 'The key, shown this once: keep it.',
      examples: ['dundun_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    }),
  },
  { title: 'MadeKey', description: 'A key that was made just now.' },
);

const time = (description: string) =>
  Type.String({ format: 'date-time', description, examples: ['2016-06-08T18:20:27Z'] });

export const KeySchema = Type.Object(
  {
    id: KeyIdSchema,
    ...keyFields,
    devices: Type.Optional(
      Type.Array(Type.String({ examples: ['field-3'] }), {
        description:
          'The only devices that the key reaches, by id; those that were handed over since are not among them.',
        examples: [['field-3']],
      }),
    ),
    expires: Type.Optional(time('When the key is good no more, UTC; absent: never.')),
    date_created: time('When the key was made, UTC.'),
    last_used: Type.Optional(time('When it was used last, UTC, to the minute; absent: never.')),
  },
  { title: 'Key', description: 'An API key; the key itself is shown only when it is made.' },
);

export const SessionSchema = Type.Object(
  {
    id: boundedText(limits.wordCharsMax, {
      description: 'Id of the session, given by the service.',
      examples: ['3c9a1f6e-8d0b-4c52-9f3e-5f1b7d0a2e64'],
    }),
    date_created: time('When it was begun, UTC.'),
    last_used: time('When it was used last, UTC.'),
    expires: time('When it is over unless it is used before, UTC.'),
    user_agent: Type.Optional(Type.String({ description: 'What the browser says it is.', examples: ['Mozilla/5.0'] })),
    address: Type.Optional(Type.String({ description: 'From where it was used last.', examples: ['192.0.2.1'] })),
    current: Type.Boolean({ description: 'Whether the token of this call was got by it.', examples: [true] }),
  },
  { title: 'Session', description: 'A sign-in of a web page.' },
);
