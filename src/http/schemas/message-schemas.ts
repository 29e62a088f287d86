// Messages: those that wait, were sent or failed, and new ones (contract 7). How schemas are used: field-schemas.ts.
import { Type } from 'typebox';
import { limits } from '../../config/limits.ts';
import { messageStates } from '../../domain/notifications/outbox/message.ts';
import { channels } from '../../domain/notifications/rules/notification.ts';
import { UsernameSchema } from './field-schemas.ts';
import { boundedText, tooLargeKeyword } from './text-bounds.ts';

const timestamp = (description: string) =>
  boundedText(limits.wordCharsMax, { description, format: 'date-time', examples: ['2016-06-08T18:20:27Z'] });

export const MessageIdSchema = boundedText(limits.idCharsMax, {
  description: 'Id of the message: 24 hex digits, assigned by the service.',
  examples: ['6a1d4f8b2c3e5d7f9a0b1c2d'],
});
export const MessageParams = Type.Object({ social: MessageIdSchema });

const ChannelSchema = Type.Unsafe<string>({
  type: 'string',
  enum: [...channels],
  description: 'The channel by which it is sent. `none` records the message and sends nothing.',
  examples: ['sms'],
});
const TextSchema = Type.String({
  ...{ maxLength: limits.messageCharsMax, [tooLargeKeyword]: true },
  description: 'The text.',
  examples: ['The pump stands still.'],
});
const RecipientSchema = {
  ...UsernameSchema,
  minLength: 1,
  description: 'Username of the recipient.',
} as typeof UsernameSchema;

export const NewMessage = Type.Object(
  { username: RecipientSchema, channel: ChannelSchema, message: TextSchema },
  {
    title: 'NewMessage',
    description: 'A message to send.',
    examples: [{ username: 'awa', channel: 'sms', message: 'The pump stands still.' }],
  },
);
export const NewMessages = Type.Object(
  {
    usernames: Type.Array(RecipientSchema, { maxItems: limits.notificationEntriesMax, description: 'The recipients.' }),
    channels: Type.Array(ChannelSchema, { maxItems: limits.notificationChannelsMax, description: 'The channels.' }),
    message: TextSchema,
  },
  {
    title: 'NewMessages',
    description: 'A message to send to each of the users on each of the channels.',
    examples: [{ usernames: ['awa', 'moussa'], channels: ['sms', 'email'], message: 'The pump stands still.' }],
  },
);

export const MessageSchema = Type.Object(
  {
    id: MessageIdSchema,
    owner: Type.String({ description: 'Username of the sender.', examples: ['awa'] }),
    username: Type.String({ description: 'Username of the recipient.', examples: ['moussa'] }),
    channel: ChannelSchema,
    message: TextSchema,
    timestamp: timestamp('When it came into the outbox, UTC.'),
    status: Type.Unsafe<(typeof messageStates)[number]>({
      type: 'string',
      enum: [...messageStates],
      description:
        '`queued` waits, or is tried again; `sent` was taken by the provider; `failed` for good; `undelivered` cannot go from here. `reason` says why.',
      examples: ['sent'],
    }),
    reason: Type.Optional(Type.String({ description: 'Why it failed, or why it waits.', examples: ['no such user'] })),
    code: Type.Optional(Type.String({ description: 'The last code that the provider answered.', examples: ['201'] })),
    attempts: Type.Integer({ description: 'Number of attempts to send it.', examples: [1] }),
    finished: Type.Optional(timestamp('When it reached its status, UTC; absent while it waits.')),
    notification: Type.Optional(
      Type.String({
        description: 'The notification that sent it; absent for a message that a user sent.',
        examples: ['5f0c3e9a7b1d2c4e6a8b9c0d'],
      }),
    ),
  },
  { title: 'SocialMessage', description: 'A message and its state.' },
);
