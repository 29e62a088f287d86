// Users (spec 4.1, contract 2): listing, creating, changing and removing accounts. domain/accounts/accounts.ts decides
// who may see and change what.
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { formatTimestamp } from '../../../base/time/timestamp.ts';
import { limits } from '../../../config/limits.ts';
import type { AccountChange, ChangeOrigin } from '../../../domain/accounts/accounts.ts';
import { type ProfileChange, profileListFields } from '../../../domain/users/profile.ts';
import { type Actor, messagesFrom, type User } from '../../../domain/users/user.ts';
import { sendRecords } from '../../lists/json-array.ts';
import { setPage } from '../../lists/paging.ts';
import {
  AdminSchema,
  EmailBody,
  PasswordBody,
  profileExamples,
  profileFields,
  SmsCreditSchema,
  UserBody,
  UserChangeBody,
  UserParams,
  UserSchema,
  WebhookKeySchema,
} from '../../schemas/account-schemas.ts';
import { textBounds } from '../../schemas/text-bounds.ts';
import { jsonFieldOf, textFieldOf } from '../../server/bodies.ts';
import { languageOf } from '../../server/language.ts';
import { answerDeclared, answerDone } from '../../server/preference.ts';
import {
  conflict,
  declares,
  PreferHeaders,
  pageOf,
  recordPage,
  refusals,
  type TypedApp,
  tooMany,
  writes,
} from '../../server/routes.ts';
import type { Services } from '../../services.ts';
import { dropNulls } from '../drop-nulls.ts';
import { jsonField, listField, registerFields, type SingleField, textField } from '../single-fields.ts';
import { toBoundedQuotas } from './quotas.ts';
import { registerRemovals } from './removals.ts';
import { toAccountChange, toBoolean, toCredit, toList, toNewEmail, toNewPassword } from './user-bodies.ts';

const tags = ['Users'];

export function registerUsers(app: TypedApp, services: Services): void {
  registerReads(app, services);
  registerCreate(app, services);
  registerChanges(app, services);
  registerWebhookKey(app, services);
  registerRemovals(app, services);
}

function registerReads(app: TypedApp, { accounts, quotas }: Services): void {
  app.get(
    '/users',
    {
      schema: {
        tags,
        operationId: 'listUsers',
        summary: 'List users',
        description: 'Ordered by username. The fields that are shown depend on the caller.',
        querystring: Type.Object({
          username: Type.Optional(
            Type.String({
              maxLength: limits.knownUsernameCharsMax,
              description: 'Only users whose name holds this text, whatever the case.',
            }),
          ),
          full: Type.Optional(
            Type.Boolean({ description: '`true` adds the quotas of each user; for admins.', examples: [true] }),
          ),
          ...recordPage('Users'),
        }),
        response: { 200: pageOf(UserSchema, { description: 'A page of users.', counted: true }), ...refusals },
      },
    },
    async (request, reply) => {
      const { steps, total } = await accounts.list(request.actor, request.query);
      setPage(request, reply as never, { ...request.query, total });
      const records = async function* () {
        for await (const users of steps) {
          const reports = request.query.full === true ? await quotas.ofAll(request.actor, users) : new Map();
          yield users.map((user) => ({
            ...toUserRecord(accounts, request.actor, user),
            // A list has texts of others and is compressed: its length would tell of the key (compression.ts).
            webhook_key: undefined,
            quota: toBoundedQuotas(reports.get(user.key)),
          }));
        }
      };
      return (await sendRecords(request, reply as never, records())) as never;
    },
  );

  app.get(
    '/users/me',
    {
      schema: {
        tags,
        operationId: 'getOwnUser',
        summary: 'Read who you are',
        description: 'Without a token you are `guest`.',
        response: { 200: UserSchema, ...refusals },
      },
    },
    async (request) => {
      const user = await accounts.get(request.actor, request.actor.userId);
      return toUserRecord(accounts, request.actor, user) as never;
    },
  );

  app.get(
    '/users/:user',
    {
      schema: {
        tags,
        operationId: 'getUser',
        summary: 'Read a user',
        description: 'The fields that are shown depend on the caller.',
        params: UserParams,
        response: { 200: UserSchema, ...refusals },
      },
    },
    async (request) => {
      const user = await accounts.get(request.actor, request.params.user.toLowerCase());
      return toUserRecord(accounts, request.actor, user) as never;
    },
  );
}

function registerCreate(app: TypedApp, { accounts }: Services): void {
  app.post(
    '/users',
    {
      // domain/accounts decides who may create accounts.
      config: { isOpen: true },
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'createUser',
        summary: 'Make an account',
        description:
          'For admins; for everybody if the service is configured so (`DUNDUN_SELF_REGISTRATION`). Answers with the id: as text, or as a JSON string if `Accept` asks for that. An admin may give an `id` and a `passwordHash` from another system.',
        headers: PreferHeaders,
        body: UserBody,
        response: {
          ...declares(UserSchema, { withId: true }),
          ...conflict('The name or the id is taken.'),
          ...tooMany,
        },
      },
    },
    async (request, reply) => {
      const { admin = false, id, ...body } = request.body;
      const draft = { ...body, admin, id: id?.toLowerCase() };
      const user = await accounts.create(request.actor, draft as Parameters<typeof accounts.create>[1], request.ip);
      return answerDeclared(request, reply as never, {
        location: `/api/v2/users/${user.id}`,
        id: user.id,
        record: async () => toUserRecord(accounts, request.actor, user),
      }) as never;
    },
  );
}

function registerChanges(app: TypedApp, { accounts }: Services): void {
  app.put(
    '/users/:user',
    {
      preValidation: dropNulls,
      schema: {
        tags,
        operationId: 'updateUser',
        summary: 'Change fields of an account',
        description:
          'For the user and admins; only admins may change `admin`. Another e-mail address of your own requires your password (`current`); the address before is told.',
        params: UserParams,
        body: UserChangeBody,
        response: { ...writes, ...conflict('The last admin stays one.') },
      },
    },
    async (request, reply) => {
      const id = request.params.user.toLowerCase();
      await accounts.update(request.actor, id, toAccountChange(request.body), changeOriginOf(request));
      return answerDone(reply) as never;
    },
  );

  registerFields(app, {
    ...{ tags, path: '/users/:user', words: 'an account', params: UserParams, fields },
    update: (request, { user }, change) =>
      accounts.update(request.actor, user.toLowerCase(), change, changeOriginOf(request)),
  });

  app.put(
    '/users/:user/password',
    {
      schema: {
        tags,
        operationId: 'setUserPassword',
        summary: 'Set a new password',
        description:
          'Ends all tokens, sessions and MQTT connections that were made with the old password; if an admin resets the password of another user, their API keys too. Changing your own password requires the current one.',
        params: UserParams,
        body: PasswordBody,
        response: { ...writes, ...tooMany },
      },
    },
    async (request, reply) => {
      const id = request.params.user.toLowerCase();
      await accounts.setPassword(request.actor, id, toNewPassword(request.body), request.ip);
      return answerDone(reply) as never;
    },
  );
}

function registerWebhookKey(app: TypedApp, { accounts }: Services): void {
  app.post(
    '/users/:user/webhook_key',
    {
      schema: {
        tags,
        operationId: 'rotateWebhookKey',
        summary: "Make a new key for a user's webhooks",
        description:
          'For the user and admins. For a day messages are also signed with the old key, so that receivers have time to change.',
        params: UserParams,
        response: { 200: WebhookKeySchema, ...refusals },
      },
    },
    async (request) => {
      const { key, previousUntilMs } = await accounts.rotateWebhookKey(
        request.actor,
        request.params.user.toLowerCase(),
      );
      const previous_until = formatTimestamp(previousUntilMs);
      return (key === undefined ? { previous_until } : { webhook_key: key, previous_until }) as never;
    },
  );
}

type ProfileField = SingleField<AccountChange>;

const emptied = 'An empty one takes it away. For the user and admins.';

const textFields = (['firstName', 'lastName'] as const).map(
  (name): ProfileField => ({
    name,
    operationId: `setUser${capital(name)}`,
    words: { firstName: 'first name', lastName: 'last name' }[name],
    note: emptied,
    body: textField(emptied, profileExamples[name], textBounds.profileEntry),
    change: (body): ProfileChange => ({ [name]: textFieldOf(body, name, textBounds.profileEntry) }),
  }),
);

const listWords = {
  phone: 'phone numbers',
  address: 'addresses',
  facebook: 'Facebook ids',
  twitter: 'Twitter ids',
  telegram: 'Telegram chats',
  webhook: 'webhook addresses',
};

const listFields = profileListFields.map(
  (name): ProfileField => ({
    name,
    operationId: `setUser${capital(name)}`,
    words: listWords[name],
    note: `The whole list as a JSON array, or one entry alone as text. ${emptied}`,
    body: listField(profileFields[name], profileExamples[name]),
    change: (body): ProfileChange => ({ [name]: toList(body, name) }),
  }),
);

const fields: readonly ProfileField[] = [
  ...textFields,
  {
    name: 'email',
    operationId: 'setUserEmail',
    words: 'e-mail address',
    note: `Your own address requires your password: send {"current": …, "email": …}. The new one is not confirmed, and the one before is told. ${emptied}`,
    body: EmailBody as never,
    refusals: tooMany,
    change: (body) => toNewEmail(body),
  },
  ...listFields,
  {
    name: 'messages_from',
    operationId: 'setUserMessagesFrom',
    words: 'choice who may send messages',
    note: `One of ${messagesFrom.join(', ')}. ${emptied}`,
    body: textField(emptied, profileExamples.messages_from, textBounds.word),
    change: (body): ProfileChange => ({ messages_from: textFieldOf(body, 'messages_from', textBounds.word) }),
  },
  {
    name: 'admin',
    operationId: 'setUserAdmin',
    words: 'admin right',
    note: 'For admins; the last one stays an admin.',
    body: jsonField(AdminSchema, false),
    refusals: conflict('The last admin stays one.'),
    change: (body) => ({ admin: toBoolean(jsonFieldOf(body, 'admin')) }),
  },
  {
    name: 'sms_credit',
    operationId: 'setUserSmsCredit',
    words: 'paid messages a day',
    note: 'Shown as `smsCredit`. `null` or an empty text takes it away. For admins.',
    body: jsonField(SmsCreditSchema, 50),
    change: (body) => ({ smsCredit: toCredit(body) }),
  },
];

/** The user with the fields of the actor's view (contract 2), in the order of spec.md. */
export function toUserRecord(accounts: Services['accounts'], actor: Actor, user: User): object {
  const view = accounts.viewOf(actor, user);
  const { id, username, createdTime, firstName, lastName } = user;
  if (view === 'name') return { id, username };
  if (view === 'person') return { id, createdTime, username, firstName, lastName };
  const { email, phone, address, facebook, twitter, telegram, webhook, messages_from, admin, smsCredit } = user;
  const email_confirmed = email !== undefined && user.confirmedEmail === email ? true : undefined;
  const webhook_key = accounts.findWebhookKey(actor, user);
  const reached = {
    email,
    email_confirmed,
    phone,
    address,
    facebook,
    twitter,
    telegram,
    webhook,
    webhook_key,
    messages_from,
  };
  return { id, createdTime, username, firstName, lastName, ...reached, admin, smsCredit };
}

function changeOriginOf(request: FastifyRequest): ChangeOrigin {
  return { address: request.ip, language: languageOf(request) };
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
