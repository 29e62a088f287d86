// Messages (contract 7): listing sent, waiting and failed ones, and sending by hand.
import { type Static, Type } from 'typebox';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import type { Message } from '../../../domain/notifications/outbox/message.ts';
import { setPage } from '../../lists/paging.ts';
import {
  MessageIdSchema,
  MessageParams,
  MessageSchema,
  NewMessage,
  NewMessages,
} from '../../schemas/message-schemas.ts';
import { boundedText } from '../../schemas/text-bounds.ts';
import { answerDeclared } from '../../server/preference.ts';
import { registerRemoval } from '../../server/removal-route.ts';
import {
  declares,
  overload,
  PreferHeaders,
  pageOf,
  recordPage,
  refusals,
  type TypedApp,
  tooFast,
} from '../../server/routes.ts';
import type { Services } from '../../services.ts';

const tags = ['Messages'];
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
      return page.messages.map(toMessageRecord) as never;
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
      const record = async () => toMessageRecord(await messages.get(request.actor, id));
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
    async (request) => toMessageRecord(await messages.get(request.actor, request.params.social)) as never,
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

/** A message as it is read. */
export function toMessageRecord(message: Message): object {
  const { id, author: owner, username, channel, text, state: status, reason, code, attempts, notification } = message;
  return {
    ...{ id, owner, username, channel, message: text, timestamp: formatTimestamp(message.createdMs), status },
    ...{ reason, code, attempts, notification },
    finished: message.finishedMs === undefined ? undefined : formatTimestamp(message.finishedMs),
  };
}
