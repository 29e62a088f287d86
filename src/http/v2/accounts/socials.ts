// Messages (contract 7): listing sent, waiting and failed ones, and sending by hand.
import { type Static, Type } from 'typebox';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import { type Message, messageStates } from '../../../domain/notifications/outbox/message.ts';
import { channels } from '../../../domain/notifications/rules/notification.ts';
import { setPage } from '../../lists/paging.ts';
import { UsernameSchema } from '../../schemas/field-schemas.ts';
import { boundedText, tooLargeKeyword } from '../../schemas/text-bounds.ts';
import { answerDeclared } from '../../server/preference.ts';
import { registerRemoval } from '../../server/removal-route.ts';
import {
  declares,
  overload,
  PreferHeaders,
  pageOf,
  recordPage,
  refusals,
  type Services,
  type TypedApp,
  tooFast,
} from '../../server/routes.ts';

const tags = ['Messages'];
const timestamp = (description: string) =>
  boundedText(limits.wordCharsMax, { description, format: 'date-time', examples: ['2016-06-08T18:20:27Z'] });

const MessageIdSchema = boundedText(limits.idCharsMax, {
  description: 'Id of the message: 24 hex digits, assigned by the service.',
  examples: ['6a1d4f8b2c3e5d7f9a0b1c2d'],
});
const MessageParams = Type.Object({ social: MessageIdSchema });

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

const NewMessage = Type.Object(
  { username: RecipientSchema, channel: ChannelSchema, message: TextSchema },
  {
    title: 'NewMessage',
    description: 'A message to send.',
    examples: [{ username: 'awa', channel: 'sms', message: 'The pump stands still.' }],
  },
);
const NewMessages = Type.Object(
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

const MessageSchema = Type.Object(
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

const listQuery = Type.Object({
  q: Type.Optional(
    boundedText(limits.filterCharsMax, {
      description: 'Filter as for devices: `status==failed`, `username==awa`, `timestamp>2036-01-01T00:00:00Z`.',
    }),
  ),
  ...recordPage('Messages'),
});

export function registerSocials(app: TypedApp, { messages }: Services): void {
  app.get(
    '/socials',
    {
      schema: {
        tags,
        operationId: 'listMessages',
        summary: 'List messages',
        description: `Those you send and those of your notifications, newest first; for admins those of everybody. Of each user the last ${limits.messagesPerUserMax} are kept.`,
        querystring: listQuery,
        response: { 200: pageOf(MessageSchema, { description: 'A page of messages.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { q, limit, offset } = request.query as Static<typeof listQuery>;
      const page = await messages.list(request.actor, { q, limit, offset });
      setPage(request, reply, { limit, offset, total: page.total });
      return page.messages.map(toRecord) as never;
    },
  );

  app.post(
    '/socials',
    {
      schema: {
        tags,
        operationId: 'sendMessage',
        summary: 'Send a message',
        description:
          'Puts a message into the outbox, from which it is sent at once, and answers with its id; `GET` tells what became of it. Without a token only `none` is delivered.',
        headers: PreferHeaders,
        body: NewMessage,
        response: { ...declares(MessageSchema, { withId: true }), ...tooFast },
      },
    },
    async (request, reply) => {
      const { username, channel, message: text } = request.body;
      const [id = ''] = await messages.send(request.actor, { usernames: [username], channels: [channel], text });
      const record = async () => toRecord(await messages.get(request.actor, id));
      return answerDeclared(request, reply as never, { location: `/api/v2/socials/${id}`, id, record }) as never;
    },
  );

  app.post(
    '/socials/batch',
    {
      schema: {
        tags,
        operationId: 'sendMessages',
        summary: 'Send a message to several',
        description:
          'One message for each user and channel, all of them or none; the answer is their ids, by user and then by channel.',
        body: NewMessages,
        response: {
          200: {
            description: 'The ids; committed to disk.',
            content: { 'application/json': { schema: Type.Array(MessageIdSchema) } },
          },
          ...refusals,
          ...overload,
          ...tooFast,
        },
      },
    },
    async (request) => {
      const { usernames, channels: by, message: text } = request.body;
      return (await messages.send(request.actor, { usernames, channels: by, text })) as never;
    },
  );

  app.get(
    '/socials/:social',
    {
      schema: {
        tags,
        operationId: 'getMessage',
        summary: 'Read a message',
        description: 'For the sender and admins.',
        params: MessageParams,
        response: { 200: MessageSchema, ...refusals },
      },
    },
    async (request) => toRecord(await messages.get(request.actor, request.params.social)) as never,
  );

  registerRemoval(app, {
    tags,
    path: '/socials/:social',
    operationId: 'deleteMessage',
    summary: 'Delete a message',
    description: 'A message that waits is not sent any more; a message that is being sent may still arrive.',
    params: MessageParams,
    remove: (actor, { social }) => messages.remove(actor, social),
  });
}

function toRecord(message: Message): object {
  const { id, author: owner, username, channel, text, state: status, reason, code, attempts, notification } = message;
  return {
    ...{ id, owner, username, channel, message: text, timestamp: formatTimestamp(message.createdMs), status },
    ...{ reason, code, attempts, notification },
    finished: message.finishedMs === undefined ? undefined : formatTimestamp(message.finishedMs),
  };
}
