// Attacks by accounts: many registrations, registrations under names that look like others, wrong logins over
// WebSocket through a proxy, and use of rights that were revoked.
import assert from 'node:assert/strict';
import { generate, type IConnackPacket, parser } from 'mqtt-packet';
import WebSocket from 'ws';
import { type Attack, type AttackTarget, openSocket, pace } from './harness/attack.ts';
import { addressOf, ask, keepOn, signIn } from './harness/attacker.ts';

const lookAlikes = ['admin\ufe0f', 'admin\u034f', 'admin\u3164', 'ɑdmin', 'admın', 'ɡuest', 'аdmin', 'awa0\u200b', 'аwа0', 'ＡＤＭＩＮ']; // biome-ignore format: one line

/** The code of CONNACK over WebSocket, as a proxy passes it on; undefined where the connection is cut. */
function signInAs(
  target: AttackTarget,
  options: { readonly password: string; readonly forwardedFor: string },
): Promise<number | undefined> {
  const { username } = target;
  const { password, forwardedFor } = options;
  const webSocket = new WebSocket(`ws://127.0.0.1:${target.http}/mqtt`, 'mqtt', {
    headers: { 'x-forwarded-for': forwardedFor },
  });
  return new Promise<number | undefined>((resolve) => {
    const packets = parser({ protocolVersion: 4 });
    packets.on('packet', (packet) => resolve((packet as IConnackPacket).returnCode));
    webSocket.on('message', (bytes: Buffer) => packets.parse(bytes));
    webSocket.on('error', () => resolve(undefined)).on('close', () => resolve(undefined));
    const connect = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clientId: '', clean: true } as const;
    webSocket.on('open', () =>
      webSocket.send(generate({ ...connect, keepalive: 60, username, password: Buffer.from(password) })),
    );
  }).finally(() => webSocket.terminate());
}

/** A live stream of somebody's, until it is ended; what has come of it. */
function followLive(target: AttackTarget, path: string, token: string): Promise<{ end(): Promise<string> }> {
  const socket = openSocket(target.http);
  let text = '';
  socket.setEncoding('utf8');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: d\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const end = async () => {
    // What was to be sent is on its way before the answer to this.
    await ask(target, { path: '/health/live' });
    socket.destroy();
    return text;
  };
  return new Promise((resolve, reject) => {
    socket.on('data', (piece: string) => {
      text += piece;
      if (text.includes('retry:')) resolve({ end });
      else if (!/^HTTP\/1\.1 200/.test(text)) reject(new Error(`no live stream: ${text}`));
    });
    socket.once('close', () => reject(new Error('the live stream was cut before it began')));
  });
}

export const attacks: readonly Attack[] = [
  {
    name: 'makes accounts from two hundred addresses, under look-alikes of others’ names too',
    against: 'identity',
    metBy: 'registrations are counted by address and together (registrationsMax of config/limits.ts); skeletons are compared (domain/users/skeleton.ts)', // biome-ignore format: one line
    settings: { DUNDUN_SELF_REGISTRATION: 'on' },
    run: async (target) => {
      const seen = new Set<number>();
      await keepOn(target, 40, async (connection, round) => {
        const n = connection + 40 * round;
        const lookAlike = round % 2 === 0 ? undefined : lookAlikes[(n >> 1) % lookAlikes.length];
        const json = { username: lookAlike ?? `registered-${n}`, password: 'drums are heard far away' };
        const { status } = await ask(target, { path: '/api/v2/users', json, from: addressOf(n % 200) });
        if (lookAlike === undefined) seen.add(status);
        else assert.ok(status === 0 || status >= 400, `${lookAlike} was given: ${status}`);
      });
      for (const status of seen) assert.ok([0, 200, 400, 422, 429, 503].includes(status), String(status));
    },
  },
  {
    name: 'guesses the password of a user over WebSocket through a trusted proxy',
    against: 'identity',
    metBy: 'the last address that is no trusted proxy counts over WebSocket too (mqtt/proxy/client-address.ts)',
    settings: { DUNDUN_TRUST_PROXY: '127.0.0.1' },
    run: async (target) => {
      await keepOn(target, 8, async (connection, round) => {
        const forwardedFor = round % 2 === 0 ? '203.0.113.8, 198.51.100.67' : '198.51.100.67';
        const code = await signInAs(target, { password: `guess ${connection}-${round}`, forwardedFor });
        assert.notEqual(code, 0, 'a guess is let in');
        await pace(5);
      });
      const owner = { password: target.password, forwardedFor: '203.0.113.8' };
      assert.equal(await signInAs(target, owner), 0, 'the user comes in');
    },
  },
  {
    name: 'goes on with a key, a share, a stream and an MQTT subscription of a device that was handed over',
    against: 'identity',
    by: 'user',
    metBy: 'shares and keys of the old owner end with the change (domain/devices/handovers.ts)',
    run: async (target) => {
      const { username, password, userToken: token } = target;
      const friend = { username: 'awa1', password };
      const { text: friendToken } = await ask(target, { path: '/api/v2/auth/token', json: friend });
      for (let n = 0; n < 30 && !target.isOver(); n += 1) {
        const path = `/api/v2/devices/handed-${n}`;
        const expected = async (status: number, asked: Parameters<typeof ask>[1]) => {
          const answer = await ask(target, asked);
          assert.equal(answer.status, status, `${asked.method ?? ''} ${asked.path}: ${answer.text}`);
          return answer.text;
        };
        await expected(204, { path: '/api/v2/devices', token, json: { id: `handed-${n}`, sensors: [{ id: 's' }] } });
        const json = { name: `kept ${n}`, devices: [`handed-${n}`] };
        const { key } = JSON.parse(await expected(200, { path: '/api/v2/auth/keys', token, json }));
        const share = { path: `${path}/shares/awa1`, method: 'PUT', token, json: { scopes: ['device:view'] } };
        await expected(204, share);
        await expected(200, { path, token: friendToken });
        const stream = await followLive(target, `${path}/live`, token);
        const { socket } = await signIn(target, { clientId: `hears-${n}`, username, password });
        let heardOf = false;
        socket.on('data', (bytes: Buffer) => {
          heardOf ||= bytes.includes('after the change');
        });
        const subscriptions = [{ topic: `devices/handed-${n}/#`, qos: 0 as const }];
        socket.write(generate({ cmd: 'subscribe', messageId: 1, subscriptions }));
        const headers = { 'content-type': 'text/plain' };
        await expected(204, { path: `${path}/owner`, method: 'PUT', token, body: 'admin', headers });
        const values = `${path}/sensors/s/values`;
        await expected(403, { path, token: friendToken });
        for (const old of [token, key]) {
          await expected(403, { path, token: old });
          await expected(403, { path: values, token: old, json: { value: 1 } });
        }
        await expected(204, { path: values, token: target.adminToken, json: { value: 'after the change' } });
        // What the subscription were to get is on its way before the answer to this.
        const ponged = new Promise<void>((resolve) => {
          socket.on('data', (bytes: Buffer) => bytes.includes(Buffer.from([0xd0, 0])) && resolve());
          socket.once('close', () => resolve());
        });
        socket.write(generate({ cmd: 'pingreq' }));
        await ponged;
        assert.equal(heardOf, false, 'the old owner goes on hearing of it');
        assert.doesNotMatch(await stream.end(), /after the change/, 'the stream of the old owner goes on');
        socket.destroy();
      }
    },
  },
];
