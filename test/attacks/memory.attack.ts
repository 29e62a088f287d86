// Attacks that fill memory with texts: names that caches hold, and descriptions that lists return.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { type Attack, type AttackTarget, pace } from './harness/attack.ts';

const loginsMax = 60;
const nameChars = 7_000_000;
const devicesMax = 25;
const sensorsPerDevice = 265;

/** Sends JSON and gives the status; 0 where the connection was cut. */
function send(target: AttackTarget, method: string, path: string, json?: unknown): Promise<number> {
  const body = json === undefined ? undefined : JSON.stringify(json);
  const headers = body === undefined ? {} : { 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port: target.http, method, path, headers }, (response) => {
      response.on('error', () => resolve(0)).on('close', () => resolve(response.statusCode ?? 0));
      response.resume();
    });
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}

export const attacks: readonly Attack[] = [
  {
    name: 'signs in under names of seven million characters, and sends messages to them',
    against: 'memory',
    metBy:
      'names have a longest length before they are looked up or remembered (http/schemas/text-bounds.ts, logins.ts)',
    run: async (target) => {
      for (let n = 0; n < loginsMax && !target.isOver(); n += 1) {
        const username = String(n).padEnd(nameChars, 'x');
        const status = await send(target, 'POST', '/api/v2/auth/token', { username, password: 'x' });
        const message = { username, channel: 'none', message: 'x' };
        const sent = await send(target, 'POST', '/api/v2/socials', message);
        for (const one of [status, sent]) assert.ok([0, 400, 413, 429, 503].includes(one), String(one));
        await pace(10);
      }
    },
  },
  {
    name: 'describes devices at length, piece by piece, and lists them',
    against: 'memory',
    metBy: 'descriptions are bounded a device, the directory is weighed in bytes, lists go in steps (device-size.ts)',
    run: async (target) => {
      const meta = { a: 'x'.repeat(60_000) };
      const sensors = Array.from({ length: sensorsPerDevice }, (_, n) => ({ id: `s${n}`, meta }));
      const small = Array.from({ length: 16 }, (_, n) => ({ id: `s${n}`, meta: { a: 'x'.repeat(16_000) } }));
      for (let n = 0; n < devicesMax && !target.isOver(); n += 1) {
        const id = `large-${n}`;
        const status = await send(target, 'POST', '/api/v2/devices', { id, sensors });
        assert.notEqual(status, 204, 'a device of 16 MB was taken');
        await send(target, 'POST', '/api/v2/devices', { id, sensors: small });
        await send(target, 'PUT', `/api/v2/devices/${id}/meta`, meta);
        const listed = await send(target, 'GET', '/api/v2/devices?limit=1000');
        assert.notEqual(listed, 500);
      }
    },
  },
];
