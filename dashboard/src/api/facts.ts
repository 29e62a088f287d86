// What the dashboard must know before anybody signs in (/dashboard.json), read once.
import { queryOptions } from '@tanstack/react-query';
import { ApiProblem } from './api-problem.ts';
import { takeEarly } from './early.ts';
import { keys } from './query-keys.ts';
import { setServerTime } from './server-time.ts';

export interface Facts {
  readonly version: string;
  /** What the clock of the server shows, milliseconds since 1970 UTC; absent while it is in doubt. */
  readonly time?: number;
  readonly selfRegistration: boolean;
  /** Whether links are mailed: for forgotten passwords, and to confirm addresses. */
  readonly mailsLinks: boolean;
  readonly guestAccess: 'full' | 'push' | 'none';
  readonly defaultVisibility: 'public' | 'private';
  readonly passwordLengthMin: number;
  /** Absent: maps are drawn without tiles. */
  readonly tiles?: { readonly url: string; readonly attribution: string };
  /** Plain MQTT, and MQTT over TLS, where there are. */
  readonly mqtt: { readonly port?: number; readonly tlsPort?: number };
  /** The channels of messages that have a provider. */
  readonly channels: readonly string[];
  /** How others reach the service where it is another address than that of this browser; `isGuess`: perhaps. */
  readonly reachable?: { readonly origin: string; readonly isGuess: boolean };
}

/** The address of the service for codes, links and lines that are used elsewhere, such as https://fields.example. */
export function originFor(facts: Facts | undefined): string {
  return facts?.reachable?.origin ?? window.location.origin;
}

/** Where programs reach MQTT: plain where it is on, else over TLS, else over WebSocket alone. */
export interface MqttDoor {
  /** As it is shown and copied. */
  readonly address: string;
  /** How mosquitto_pub is told; undefined where it cannot reach it. */
  readonly options: string | undefined;
}

export function mqttDoorOf(facts: Facts | undefined): MqttDoor | undefined {
  if (facts === undefined) return undefined;
  const { port, tlsPort } = facts.mqtt;
  const { hostname, host, protocol } = new URL(originFor(facts));
  if (port !== undefined) return { address: `${hostname}:${port}`, options: `-h ${hostname} -p ${port}` };
  if (tlsPort !== undefined)
    return { address: `mqtts://${hostname}:${tlsPort}`, options: `-h ${hostname} -p ${tlsPort} --tls-use-os-certs` };
  return { address: `${protocol === 'https:' ? 'wss' : 'ws'}://${host}/mqtt`, options: undefined };
}

export const factsQuery = queryOptions({
  queryKey: keys.facts,
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
  queryFn: readFacts,
});

/** Reads them, and takes the time from them. @throws ApiProblem */
export async function readFacts(): Promise<Facts> {
  const answer = await (takeEarly('facts') ?? fetch('/dashboard.json')).catch((error: unknown) => {
    throw ApiProblem.unreachable(error);
  });
  if (!answer.ok) throw await ApiProblem.of(answer);
  const facts = (await answer.json()) as Facts;
  setServerTime(facts.time);
  return facts;
}
