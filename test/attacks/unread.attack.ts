// Attacks by requesting much and not reading the answers, which the service holds in memory until they are read.
import { generate } from 'mqtt-packet';
import { type Attack, type AttackTarget, openSocket, pace, settled } from './harness/attack.ts';

const readers = 150;
const subscribers = 300;
const arraySize = 30_000;
/** Near the longest value that is taken. */
const longText = 'x'.repeat(60_000);

export const attacks: readonly Attack[] = [
  {
    name: 'asks for 30 000 datapoints over 150 connections and reads none of them',
    against: 'memory',
    metBy: 'answers that wait for readers share one budget of bytes (http/lists/answer-budget.ts)',
    prepare: async (target) => {
      await makeDevice(target, 'unread');
      const values = Array.from({ length: arraySize }, (_, n) => ({
        value: n + 0.123456,
        timestamp: 1_700_000_000 + n,
      }));
      const json = values.map(({ value, timestamp }) => ({
        value,
        timestamp: new Date(timestamp * 1000).toISOString(),
      }));
      await post(target, '/api/v2/devices/unread/sensors/s/values', json);
    },
    run: async (target) => {
      const sockets = [];
      for (let n = 0; n < readers && !target.isOver(); n += 1) {
        const socket = openSocket(target.http);
        sockets.push(socket);
        await settled(socket);
        socket.pause();
        const format = n % 3 === 0 ? '&format=csv' : '';
        socket.write(
          `GET /api/v2/devices/unread/sensors/s/values?limit=${arraySize}${format} HTTP/1.1\r\nHost: a\r\n\r\n`,
        );
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'subscribes over 300 connections, publishes long texts there, and reads none of them',
    against: 'memory',
    metBy: 'what waits for subscribers shares one budget of bytes; who does not read is cut',
    prepare: (target) => makeDevice(target, 'deaf'),
    run: async (target) => {
      const sockets = [];
      for (let n = 0; n < subscribers; n += 1) {
        const socket = openSocket(target.mqtt);
        sockets.push(socket);
        await settled(socket);
        socket.write(
          generate({
            cmd: 'connect',
            clientId: `deaf-${n}`,
            protocolId: 'MQTT',
            protocolVersion: 4,
            clean: true,
            keepalive: 60,
          }),
        );
        socket.write(
          generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'devices/deaf/#', qos: 0 }] }),
        );
        await new Promise<void>((resolve) => {
          socket.once('data', () => resolve());
          socket.once('close', () => resolve());
        });
        socket.pause();
      }
      while (!target.isOver()) {
        await post(target, '/api/v2/devices/deaf/sensors/s/values', { value: longText });
      }
      for (const socket of sockets) socket.destroy();
    },
  },
];

async function makeDevice(target: AttackTarget, id: string): Promise<void> {
  await post(target, '/api/v2/devices', { id, sensors: [{ id: 's' }] });
}

/** As a stranger; a refusal is as good an answer as any. */
async function post(target: AttackTarget, path: string, json: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${target.url}${path}`, { method: 'POST', headers, body: JSON.stringify(json) });
  await answer.arrayBuffer();
}
