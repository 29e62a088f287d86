// MQTT clients: listed, read and disconnected, by admins all, by others their own (contract 8).
import { isUtf8 } from 'node:buffer';
import { Type } from 'typebox';
import { formatTimestamp } from '../../base/time/timestamp.ts';
import { limits } from '../../config/limits.ts';
import type { ClientConnection, ClientWill } from '../../domain/clients/mqtt-client.ts';
import type { SeenMqttClient } from '../../domain/clients/mqtt-clients.ts';
import { arrayText, sendJsonText } from '../lists/json-array.ts';
import { setPage } from '../lists/paging.ts';
import { MqttClientParams, MqttClientSchema } from '../schemas/mqtt-client-schemas.ts';
import { boundedText } from '../schemas/text-bounds.ts';
import { answerDone } from '../server/preference.ts';
import { pageOf, recordPage, refusals, type TypedApp, unanswered, writes } from '../server/routes.ts';
import type { Services } from '../services.ts';
import { actorWhileConnected } from '../sign-in/connected-actor.ts';

const tags = ['MQTT'];
const forWhom =
  'For the user who signed in on the connection, and for admins; to everybody else there is no such client.';

const listQuery = {
  text: Type.Optional(
    boundedText(limits.clientIdCharsMax, {
      description: 'Only clients whose id, owner or address contains this text, whatever the case.',
      examples: ['gateway'],
    }),
  ),
  state: Type.Optional(
    Type.Unsafe<'connected' | 'kept'>({
      type: 'string',
      enum: ['connected', 'kept'],
      description: '`connected`, or `kept`: only those that are away and whose session is kept. Left out: both.',
      examples: ['connected'],
    }),
  ),
};

const counted = pageOf(MqttClientSchema, { description: 'A page of clients.', counted: true });
const pageOfClients = {
  ...counted,
  headers: {
    ...counted.headers,
    'X-Silent-Servers': {
      type: 'string',
      description:
        'Ids of servers (`GET /nodes`) that did not answer within two seconds, with commas: their clients are missing, and are not counted. Absent where all answered.',
    },
  },
};

export function registerMqttClients(app: TypedApp, { mqttClients }: Services): void {
  app.get(
    '/mqtt/clients',
    {
      schema: {
        tags,
        operationId: 'listMqttClients',
        summary: 'List MQTT clients',
        description:
          'Who is connected, in the order in which they came, and then whose sessions are kept. Admins see all, other users their own; it takes a login. Where several servers share the data, the list is that of all, whichever is asked: first who is connected, server by server in the order in which these joined, then whose sessions are kept, likewise.',
        querystring: Type.Object({ ...listQuery, ...recordPage('Clients') }),
        response: { 200: pageOfClients, ...refusals, ...unanswered },
      },
    },
    async (request, reply) => {
      const page = await mqttClients.list(actorWhileConnected(request, reply), request.query);
      setPage(request, reply, { ...request.query, total: page.total });
      if (page.silent.length > 0) reply.header('x-silent-servers', page.silent.join(', '));
      return sendJsonText(
        reply,
        arrayText(page.clients, (client) => JSON.stringify(toMqttClientRecord(client))),
      );
    },
  );

  app.get(
    '/mqtt/clients/:client',
    {
      schema: {
        tags,
        operationId: 'getMqttClient',
        summary: 'Read an MQTT client',
        description: forWhom,
        params: MqttClientParams,
        response: { 200: MqttClientSchema, ...refusals, ...unanswered },
      },
    },
    async (request) => toMqttClientRecord(await mqttClients.get(request.actor, clientIdOf(request.params))) as never,
  );

  app.post(
    '/mqtt/clients/:client/disconnect',
    {
      schema: {
        tags,
        operationId: 'disconnectMqttClient',
        summary: 'Disconnect an MQTT client',
        description: `Ends the connection at once; its last will is published. Its kept session stays, or ends with \`session=end\`, with its subscriptions and all that waits for it. The client may connect again: to keep it out, revoke its API key or change the password. Where several servers share the data, it is answered when the one that has the client has closed the connection; 503 where a server does not answer, and none of the others has it. ${forWhom}`,
        params: MqttClientParams,
        querystring: Type.Object({
          session: Type.Optional(
            Type.Unsafe<'keep' | 'end'>({
              type: 'string',
              enum: ['keep', 'end'],
              default: 'keep',
              description: 'What becomes of a kept session.',
              examples: ['end'],
            }),
          ),
        }),
        response: writes,
      },
    },
    async (request, reply) => {
      const keepSession = request.query.session !== 'end';
      await mqttClients.disconnect(request.actor, clientIdOf(request.params), { keepSession });
      return answerDone(reply) as never;
    },
  );
}

/** Browsers take `.` and `..` out of paths, also as `%2E`; so these ids, and those that look like them, are escaped once more. */
function clientIdOf({ client }: { readonly client: string }): string {
  return /^(%(25)*2E){1,2}$/i.test(client) ? decodeURIComponent(client) : client;
}

function toMqttClientRecord(client: SeenMqttClient): object {
  const { connection, kept } = client;
  const { awayMs, expiresMs, waitingMessages = 0, waitingBytes = 0 } = kept ?? {};
  return {
    id: client.id,
    owner: client.username,
    connected: connection !== undefined,
    ...(connection === undefined ? { disconnected_since: timeOf(awayMs) } : connectionFields(connection)),
    expires: timeOf(expiresMs),
    clean_session: kept === undefined,
    will: connection?.will && toWillRecord(connection.will, { isOwn: client.isOwn }),
    subscriptions: client.subscriptions,
    subscription_count: client.subscriptionCount,
    waiting: { messages: waitingMessages, bytes: waitingBytes, unsent_bytes: connection?.unsentBytes ?? 0 },
    messages_in: connection?.messagesIn,
    messages_out: connection?.messagesOut,
    refused: Object.fromEntries(client.refused),
  };
}

function connectionFields({
  sinceMs,
  address,
  protocolLevel,
  transport,
  keepAliveS,
  sessionExpiryS,
}: ClientConnection): object {
  return {
    connected_since: timeOf(sinceMs),
    ...(address === '' ? {} : { address }),
    protocol: protocolNames[protocolLevel],
    transport,
    keep_alive: keepAliveS,
    session_expiry: sessionExpiryS,
  };
}

const protocolNames: Readonly<Record<number, string>> = { 3: '3.1', 4: '3.1.1', 5: '5.0' };

function toWillRecord({ topic, qos, retain, payload }: ClientWill, { isOwn }: { readonly isOwn: boolean }): object {
  const will = { topic, qos, retain, bytes: payload.length };
  if (!isOwn) return will;
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.length);
  return isUtf8(bytes)
    ? { ...will, payload: bytes.toString('utf8') }
    : { ...will, payload_base64: bytes.toString('base64') };
}

function timeOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : formatTimestamp(ms);
}
