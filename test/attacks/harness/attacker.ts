// Tools for attacks: requests whose refusal, or end without an answer, counts as an answer; MQTT packet by packet; and
// a device to work on. Connections come from `stranger` unless an attack says otherwise.
import { readFileSync } from 'node:fs';
import { request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { generate, type IConnackPacket, type Packet, parser } from 'mqtt-packet';
import { root } from '../../support/process.ts';
import { type AttackTarget, openSocket, pace, stranger } from './attack.ts';

/** Another address for each number, up to 62 500. */
export const addressOf = (n: number): string => `127.1.${1 + (Math.floor(n / 250) % 250)}.${1 + (n % 250)}`;

/** The certificates that the service may show in tests. */
export const ca = ['cert.pem', 'next-cert.pem'].map((name) =>
  readFileSync(join(root, 'test/support/tls', name), 'utf8'),
);

export interface Ask {
  readonly method?: string;
  readonly path: string;
  readonly port?: number;
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string | Buffer;
  readonly from?: string;
}

/** A request on a connection of its own, and its answer; status 0 where the connection was cut instead. */
export function ask(target: AttackTarget, options: Ask): Promise<{ status: number; text: string }> {
  const { path, port = target.http, token, json, from = stranger } = options;
  const body = json === undefined ? options.body : JSON.stringify(json);
  const { method = body === undefined ? 'GET' : 'POST' } = options;
  const headers: Record<string, string> = { ...options.headers };
  if (json !== undefined) headers['content-type'] = 'application/json';
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
  const where = { host: '127.0.0.1', port, path, method, headers, localAddress: from, agent: false } as const;
  return new Promise((resolve) => {
    const cut = () => resolve({ status: 0, text: '' });
    const request = target.isTls && port === target.http ? requestTls({ ...where, ca }) : requestPlain(where);
    request.setTimeout(10_000, () => request.destroy());
    request.on('error', cut).on('close', cut);
    request.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('error', cut);
      answer.on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    request.end(body);
  });
}

/** Does it on so many connections at once, again and again until the attack is over. */
export async function keepOn(
  target: AttackTarget,
  connections: number,
  act: (connection: number, round: number) => Promise<unknown>,
): Promise<void> {
  const each = async (connection: number) => {
    for (let round = 0; !target.isOver(); round += 1) {
      await act(connection, round);
      await pace(1);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, n) => each(n)));
}

/** Waits until the attack is over, and lets go of what was opened. */
export async function holdOn(target: AttackTarget, sockets: readonly Socket[]): Promise<void> {
  while (!target.isOver()) await pace(50);
  for (const socket of sockets) socket.destroy();
}

/** The next bytes of a socket; undefined where it closes, or says nothing for some seconds. */
export function heard(socket: Socket, msMax = 5_000): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const end = (bytes?: Buffer) => {
      clearTimeout(timer);
      socket.off('data', end).off('close', closed);
      resolve(bytes);
    };
    const closed = () => end();
    const timer = setTimeout(closed, msMax);
    socket.on('data', end).on('close', closed);
    if (socket.destroyed) closed();
  });
}

/** Resolves when the socket has taken what is written, or is gone. */
export function written(socket: Socket, bytes: Buffer | string): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      socket.off('close', end);
      resolve();
    };
    if (socket.destroyed) return resolve();
    socket.once('close', end);
    socket.write(bytes, end);
  });
}

/** The head of a request with a body of so many bytes. */
export function postHead(path: string, bytes: number, more = ''): string {
  return `POST ${path} HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n${more}\r\n`;
}

export interface SignIn {
  readonly clientId: string;
  readonly clean?: boolean;
  readonly username?: string;
  readonly password?: string;
  readonly will?: { topic: string; payload: Buffer; qos: 0 | 1 | 2; retain: boolean };
  readonly from?: string;
}

/** An MQTT connection and the code of its CONNACK; undefined where it is cut instead. */
export async function signIn(
  target: AttackTarget,
  sign: SignIn,
): Promise<{ readonly socket: Socket; readonly code: number | undefined }> {
  const { clientId, clean = true, username, password, will, from = stranger } = sign;
  const socket = openSocket(target.mqtt, { from });
  const packets = parser({ protocolVersion: 4 });
  const answer = new Promise<number | undefined>((resolve) => {
    packets.once('packet', (packet: Packet) => resolve((packet as IConnackPacket).returnCode));
    socket.once('close', () => resolve(undefined));
  });
  const parse = (bytes: Buffer) => packets.parse(bytes);
  socket.on('data', parse);
  socket.write(
    generate({
      ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId, clean, keepalive: 60 },
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password: Buffer.from(password) }),
      ...(will === undefined ? {} : { will }),
    }),
  );
  const code = await answer;
  socket.off('data', parse);
  socket.resume();
  return { socket, code };
}

/** A device of the service's admin that everybody may read and push to, with a sensor `s`. */
export async function makePublicDevice(target: AttackTarget, id: string): Promise<void> {
  const json = { id, visibility: 'public', sensors: [{ id: 's' }] };
  const { status, text } = await ask(target, { path: '/api/v2/devices', token: target.adminToken, json });
  // Another attack may have made it.
  if (status !== 204 && !text.includes(':exists')) throw new Error(`${id} cannot be made: ${status} ${text}`);
}

/** Datapoints of that sensor, one each second of the past. */
export async function fillDevice(target: AttackTarget, id: string, { datapoints = 90_000 } = {}): Promise<void> {
  const startMs = Date.UTC(2025, 0, 1);
  for (let from = 0; from < datapoints; from += 30_000) {
    const json = Array.from({ length: Math.min(30_000, datapoints - from) }, (_, n) => ({
      value: (from + n) * 0.5 + 0.123,
      timestamp: new Date(startMs + (from + n) * 1_000).toISOString(),
    }));
    const path = `/api/v2/devices/${id}/sensors/s/values`;
    const { status, text } = await ask(target, { path, token: target.adminToken, json });
    if (status !== 204) throw new Error(`${id} cannot be filled: ${status} ${text}`);
  }
}
