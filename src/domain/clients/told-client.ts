// An MQTT client as one process tells another of it, in plain values; and which clients are asked for.
import { limits } from '../../config/limits.ts';
import type { UserKey } from '../users/user.ts';
import type { ClientConnection, ClientRefusal, ClientWill, MqttClient } from './mqtt-client.ts';

export const clientStates = ['connected', 'kept'] as const;
/** Connected; or away, with a session that is kept. */
export type ClientState = (typeof clientStates)[number];

/** Whose clients: said in both cases, so that what is left out on its way to another process shows nobody's. */
export type Whose = UserKey | 'everybody';

export interface ClientSelection {
  readonly user: Whose;
  /** Only those whose id, owner or address contains this text, whatever the case. */
  readonly text?: string | undefined;
}

/** How many clients there are in each state. */
export type ClientTotals = Readonly<Record<ClientState, number>>;

/** `MqttClient` with the payload of its will in Base64, and what was refused as pairs. */
export interface ToldClient extends Omit<MqttClient, 'connection' | 'refused'> {
  readonly connection?: ToldConnection | undefined;
  readonly refused: readonly (readonly [ClientRefusal, number])[];
}

interface ToldConnection extends Omit<ClientConnection, 'will'> {
  readonly will?: (Omit<ClientWill, 'payload'> & { readonly payload: string }) | undefined;
}

/** With as many of its subscriptions as an answer takes. */
export function tell({ connection, refused, subscriptions, ...client }: MqttClient): ToldClient {
  let chars = 0;
  const told = subscriptions.filter(({ filter }) => {
    chars += filter.length;
    return chars <= limits.answerFilterChars;
  });
  return {
    ...client,
    connection: connection && tellConnection(connection),
    subscriptions: told,
    refused: [...refused],
  };
}

export function clientOf({ connection, refused, ...client }: ToldClient): MqttClient {
  return {
    ...client,
    // What is undefined is not told.
    ...{ owner: client.owner, kept: client.kept && { ...unknownTimes, ...client.kept } },
    connection: connection && connectionOf(connection),
    refused: new Map(refused),
  };
}

const unknownTimes = { awayMs: undefined, expiresMs: undefined };

function tellConnection({ will, ...connection }: ClientConnection): ToldConnection {
  const payload = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return { ...connection, will: will && { ...will, payload: payload(will.payload) } };
}

function connectionOf({ will, ...connection }: ToldConnection): ClientConnection {
  return {
    ...connection,
    sessionExpiryS: connection.sessionExpiryS,
    will: will && { ...will, payload: Buffer.from(will.payload, 'base64') },
  };
}
