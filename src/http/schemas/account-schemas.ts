// Users and passwords (spec 2.6, contract 2). How schemas are used: field-schemas.ts.
import { type Static, Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { type MessagesFrom, messagesFrom } from '../../domain/users/user.ts';
import { UsernameSchema } from './field-schemas.ts';
import { boundedText } from './text-bounds.ts';

const UserIdSchema = boundedText(limits.wordCharsMax, {
  description: 'Id of the user: a UUID that the service generates.',
  examples: ['5f0c1b9a-52c8-4d1e-9a4e-0d3a6b1f7c21'],
});

export const UserParams = Type.Object({ user: UserIdSchema });

const text = (description: string, example: string) =>
  boundedText(limits.profileTextCharsMax, { description, examples: [example] });
const list = (description: string, entry: string) =>
  Type.Array(Type.String({ maxLength: limits.profileTextCharsMax, examples: [entry] }), {
    maxItems: limits.profileEntriesMax,
    description,
    examples: [[entry]],
  });

/** An example for each field of a profile; of a list, one entry. */
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

/** Schema of each field of a profile; also used by the routes that change one field alone. */
export const profileFields = {
  firstName: text('First name.', profileExamples.firstName),
  lastName: text('Last name.', profileExamples.lastName),
  email: text('E-mail address.', profileExamples.email),
  phone: list('Phone numbers with country code; required for messages by `sms` and `voice`.', profileExamples.phone),
  address: list('Physical addresses.', profileExamples.address),
  facebook: list('Facebook ids.', profileExamples.facebook),
  twitter: list('Twitter account ids, without the `@`.', profileExamples.twitter),
  telegram: list(
    'Telegram chats: the number of a chat with the bot, or `@name` of a channel.',
    profileExamples.telegram,
  ),
  webhook: list('URLs that messages are posted to.', profileExamples.webhook),
  messages_from: Type.Unsafe<MessagesFrom>({
    type: 'string',
    enum: [...messagesFrom],
    description:
      'Who may send messages to the user: every signed-in user (`everyone`, also when absent), users with whom they share a device (`sharers`), or only the user (`self`).',
    examples: [profileExamples.messages_from],
  }),
};

export const AdminSchema = Type.Boolean({
  description: 'Whether the user is an admin, who has all rights on all records.',
  examples: [false],
});

export const SmsCreditSchema = Type.Integer({
  minimum: 0,
  maximum: limits.smsCreditMax,
  description:
    'Paid messages (`sms`, `voice`, `twitter`) that may be counted for the user on a day, as their author or their recipient. Absent: as many as the service allows everybody (`DUNDUN_PAID_MESSAGES_PER_DAY`), which is never exceeded either.',
  examples: [50],
});

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
  description: 'When the account was created, in milliseconds since 1970 UTC.',
  examples: [1_465_410_027_000],
});

export const UserSchema = Type.Object(
  {
    id: UserIdSchema,
    createdTime: Type.Optional(createdTime),
    username: UsernameSchema,
    ...optionalProfile,
    email_confirmed: Type.Optional(
      Type.Boolean({
        description: 'True once the user has confirmed the e-mail address, by a link that was mailed there.',
        examples: [true],
      }),
    ),
    webhook_key: Type.Optional(
      Type.String({
        description:
          'The key that signs messages to your webhooks, as Standard Webhooks defines it: `webhook-signature` is the HMAC-SHA256 of `webhook-id`, `webhook-timestamp` and the body, joined by dots. For a day after a change of the key there are two signatures, one by the new key and one by the old key. Only the user sees this field, and not in lists.',
        examples: ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='],
      }),
    ),
    admin: Type.Optional(AdminSchema),
    smsCredit: Type.Optional(SmsCreditSchema),
    quota: Type.Optional(
      Type.Array(
        Type.Object({
          kind: Type.String({
            description: 'Name of the quota, as in `GET /users/{user}/quota`.',
            examples: ['devices'],
          }),
          used: Type.Integer({ description: 'The amount that is used.', examples: [12] }),
          limit: Type.Integer({ description: 'The amount that is allowed.', examples: [100000] }),
        }),
        {
          description:
            'The quotas of the user that have a limit. Only in the list of users with `full=true`, for admins.',
        },
      ),
    ),
  },
  {
    title: 'User',
    description:
      'An account. The user and admins see all fields; other signed-in users see `id`, `username`, `firstName`, `lastName` and `createdTime`; guests see `id` and `username`.',
  },
);

export const WebhookKeySchema = Type.Object(
  {
    webhook_key: Type.Optional(
      Type.String({
        description: 'The new key. Only the user sees it.',
        examples: ['whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='],
      }),
    ),
    previous_until: Type.String({
      format: 'date-time',
      description:
        'Until this time messages are also signed with the old key: `webhook-signature` then has both signatures, separated by a space.',
      examples: ['2026-11-24T12:00:00Z'],
    }),
  },
  { title: 'WebhookKey', description: 'A new key for the webhooks of a user.' },
);

export const UserBody = Type.Object(
  {
    username: boundedText(limits.usernameCharsMax, {
      description: `1 to ${limits.usernameCharsMax} characters without / + # ? and control characters. It cannot be changed later.`,
      examples: ['awa'],
    }),
    password: Type.Optional(
      boundedText(limits.passwordCharsMax, {
        description:
          'At least 8 characters unless the service is configured otherwise; not one of the ten thousand most common passwords.',
        examples: ['talking drum'],
      }),
    ),
    ...optionalProfile,
    admin: Type.Optional(AdminSchema),
    id: Type.Optional(
      boundedText(limits.wordCharsMax, {
        format: 'uuid',
        description: 'A UUID from another system; only admins may give one. Left out: the service generates one.',
        examples: ['5f0c1b9a-52c8-4d1e-9a4e-0d3a6b1f7c21'],
      }),
    ),
    passwordHash: Type.Optional(
      boundedText(limits.passwordHashCharsMax, {
        description: 'Instead of a password: a PHC string of argon2id from another system; only admins may give one.',
        examples: ['$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
      }),
    ),
    createdTime: Type.Optional(createdTime),
  },
  {
    title: 'NewUser',
    description: 'An account to create; `username` and `password` are required, or `passwordHash` from an admin.',
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
  {
    username: Type.Optional(UsernameSchema),
    ...optionalProfile,
    admin: Type.Optional(AdminSchema),
    current: Type.Optional(
      boundedText(limits.knownPasswordCharsMax, {
        description: 'Your present password; required where your own e-mail address changes.',
        examples: ['talking drum'],
      }),
    ),
  },
  {
    title: 'UserChange',
    description:
      'The fields to change; the others stay as they are. An empty text or list removes a field. The username cannot be changed.',
    examples: [{ firstName: 'Awa', phone: ['+221770000000', '+221330000000'] }],
  },
);

const NewPassword = Type.Object(
  {
    current: Type.Optional(
      boundedText(limits.knownPasswordCharsMax, {
        description: 'The current password; required to change your own.',
        examples: ['talking drum'],
      }),
    ),
    password: boundedText(limits.passwordCharsMax, {
      description: 'The new password; not one of the ten thousand most common ones.',
      examples: ['another drum'],
    }),
  },
  {
    title: 'NewPassword',
    description:
      'A new password, and the current one; an admin who changes the password of another user leaves it out.',
  },
);

/** The schema describes the body; the route parses it: an object for one's own password, bare text from an admin. */
export const PasswordBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: {
        anyOf: [NewPassword, boundedText(limits.passwordCharsMax, { description: 'The new password, from an admin.' })],
        description: 'Both passwords, or from an admin only the new one.',
        'x-examples': {
          own: { summary: 'Your own', value: { current: 'talking drum', password: 'another drum' } },
          others: { summary: 'As an admin', value: 'another drum' },
        },
      },
    },
    'text/plain': {
      schema: boundedText(limits.passwordCharsMax, {
        description: 'The new password as bare text, from an admin.',
        examples: ['another drum'],
      }),
    },
  },
});

const NewEmail = Type.Object(
  {
    current: Type.Optional(
      boundedText(limits.knownPasswordCharsMax, {
        description: 'The current password; required to change your own address.',
        examples: ['talking drum'],
      }),
    ),
    email: text('The new address; an empty text removes it.', profileExamples.email),
  },
  { title: 'NewEmail', description: 'A new e-mail address, and the current password where it is your own.' },
);

/** The schema describes the body; the route parses it: an object for one's own address, bare text from an admin. */
export const EmailBody = Type.Unsafe<unknown>({
  'x-content': {
    'application/json': {
      schema: {
        anyOf: [NewEmail, text('The new address, from an admin.', profileExamples.email)],
        description: 'The address with the current password, or from an admin only the address.',
        'x-examples': {
          own: { summary: 'Your own', value: { current: 'talking drum', email: profileExamples.email } },
          others: { summary: 'As an admin', value: profileExamples.email },
        },
      },
    },
    'text/plain': { schema: text('The new address as bare text, from an admin.', profileExamples.email) },
  },
});

export const OwnRemovalBody = Type.Object(
  {
    current: Type.Optional(
      boundedText(limits.knownPasswordCharsMax, { description: 'Your present password.', examples: ['talking drum'] }),
    ),
    devices: Type.Optional(
      Type.Unsafe<'delete' | 'transfer'>({
        type: 'string',
        enum: ['delete', 'transfer'],
        description: 'What happens to your devices and gateways: they are removed, or handed over.',
        examples: ['delete'],
      }),
    ),
    to: Type.Optional(
      boundedText(limits.knownUsernameCharsMax, {
        description: 'Username of the user who gets what is handed over.',
        examples: ['binta'],
      }),
    ),
  },
  {
    title: 'OwnRemoval',
    description: 'The removal of your own account; `current` is required.',
    examples: [{ current: 'talking drum', devices: 'delete' }],
  },
);
