// The shapes of users, API keys and passwords on the wire (spec 2.6, contract 2); see schemas.ts for how they are used.
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { keyScopeNames } from '../../domain/keys/key.ts';
import { type MessagesFrom, messagesFrom } from '../../domain/users/user.ts';
import { idPattern } from '../ids.ts';
import { UsernameSchema } from '../schemas.ts';

const UserIdSchema = Type.String({
  description: 'Id of the user, a UUID given by the service.',
  examples: ['5f0c1b9a-52c8-4d1e-9a4e-0d3a6b1f7c21'],
});
const KeyIdSchema = Type.String({
  description: 'Id of the API key, given by the service.',
  examples: ['0b8f9a52-6c1d-4e0f-8a77-2f6f5f5d9c10'],
});

export const UserParams = Type.Object({ user: UserIdSchema });
export const KeyParams = Type.Object({ key: KeyIdSchema });

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
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
          'What messages to your webhooks are signed with, as Standard Webhooks says: `webhook-signature` is the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, joined by dots. Shown to the user alone.',
        examples: ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='],
      }),
    ),
    admin: Type.Optional(AdminSchema),
  },
  {
    title: 'User',
    description:
      'An account. The user and admins see all fields; others who signed in `id`, `username`, `firstName`, `lastName`, `createdTime`; guest `id` and `username`.',
  },
);

export const UserBody = Type.Object(
  {
    username: Type.String({
      description: `1 to ${limits.usernameCharsMax} characters, none of / + # ? and no control characters; it stays.`,
      examples: ['awa'],
    }),
    password: Type.Optional(
      Type.String({ description: 'At least 8 characters, or as the service is set.', examples: ['talking drum'] }),
    ),
    ...optionalProfile,
    admin: Type.Optional(AdminSchema),
    id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'A UUID that an admin brings along from elsewhere; left out, one is made.',
        examples: ['5f0c1b9a-52c8-4d1e-9a4e-0d3a6b1f7c21'],
      }),
    ),
    passwordHash: Type.Optional(
      Type.String({
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
    current: Type.Optional(Type.String({ description: 'The present password.', examples: ['talking drum'] })),
    password: Type.String({ description: 'The new password.', examples: ['another drum'] }),
  },
  { title: 'NewPassword', description: 'A new password, and the present one, which an admin may leave out.' },
);

/** Described here, read by the route: bare text from an admin, an object from oneself. */
export const PasswordBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: {
        anyOf: [NewPassword, Type.String({ description: 'The new password, from an admin.' })],
        description: 'Both passwords, or from an admin the new one alone.',
        'x-examples': {
          own: { summary: 'Your own', value: { current: 'talking drum', password: 'another drum' } },
          others: { summary: 'As an admin', value: 'another drum' },
        },
      },
    },
    'text/plain': {
      schema: Type.String({ description: 'The bare new password, from an admin.', examples: ['another drum'] }),
    },
  },
});

/** A list of texts, or one of them alone. */
export const listField = (shape: object, entry: string) =>
  Type.Unsafe<unknown>({
    'x-content': {
      'application/json': { schema: { ...shape, examples: [[entry]] } },
      'text/plain': { schema: Type.String({ description: 'One entry alone, bare.', examples: [entry] }) },
    },
  });

const scopeNames = keyScopeNames.map((name) => `\`${name}\``).join(', ');
const keyFields = {
  name: Type.String({
    minLength: 1,
    maxLength: limits.keyNameCharsMax,
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
    Type.String({
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
    expires: Type.Optional(time('When the key is good no more, UTC; absent: never.')),
    date_created: time('When the key was made, UTC.'),
    last_used: Type.Optional(time('When it was used last, UTC, to the minute; absent: never.')),
  },
  { title: 'Key', description: 'An API key; the key itself is shown only when it is made.' },
);
