// Connections of MQTT that sign in, subscribe to a topic of their own and say nothing more: what they take of the memory of a
// server of ours, which has been told of memory enough to let them in.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { generate } from 'mqtt-packet';
import { Fleet } from '../fleet.ts';

export interface IdleMemory {
  readonly connections: number;
  readonly beforeMib: number;
  readonly connectedMib: number;
  readonly kibEach: number;
}

const connectionsWanted = 20_000;
/** Descriptors besides: those of files, and a tenth of all connections, which nobody has alone. */
const descriptorsBeside = 6_000;
/** How long nothing is said before it is looked: a service that is quiet for some seconds gives back what their coming took. */
const restMs = 10_000;
/** On their way at once; and addresses that they come from, each of which has ports of its own. */
const atOnce = 200;
const addresses = 8;

export async function measureIdle(dataDir: string): Promise<IdleMemory> {
  mkdirSync(dataDir, { recursive: true });
  const connections = Math.min(connectionsWanted, raisedDescriptors() - descriptorsBeside);
  const env = { DUNDUN_MEMORY_MAX: '8GB' };
  const { server } = await Fleet.start({ dataDir, devices: 1, sensorsEach: 1, profile: undefined, env });
  const sockets: Socket[] = [];
  try {
    // The first sign-in is checked at length, and what is loaded late is loaded by it.
    sockets.push(await open(server.mqttPort, 0));
    await server.quiet();
    const beforeMib = server.rssMib();
    for (let n = 1; n < connections; n += atOnce) {
      const some = Array.from({ length: Math.min(atOnce, connections - n) }, (_, i) => open(server.mqttPort, n + i));
      sockets.push(...(await Promise.all(some)));
    }
    await server.quiet();
    await pause(restMs);
    const connectedMib = server.rssMib();
    const kibEach = ((connectedMib - beforeMib) * 1024) / (connections - 1);
    return { connections, beforeMib, connectedMib, kibEach };
  } finally {
    for (const socket of sockets) socket.destroy();
    await server.stop();
  }
}

/** Descriptors that this process and its children may open: as many as are needed, where it may ask for them. */
function raisedDescriptors(): number {
  const wanted = connectionsWanted + descriptorsBeside;
  try {
    execFileSync('prlimit', ['--pid', String(process.pid), `--nofile=${wanted}:${wanted}`], { stdio: 'ignore' });
  } catch {
    // Not as root, or not on Linux: what there is has to do.
  }
  return Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? 1_024);
}

/** Resolves when it has subscribed. */
function open(port: number, n: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { username, password } = Fleet.login;
    const socket = connect({ host: '127.0.0.1', port, localAddress: `127.0.0.${1 + (n % addresses)}` });
    let received = 0;
    socket.on('data', (bytes) => {
      received += bytes.length;
      // CONNACK and SUBACK.
      if (received >= 9) resolve(socket);
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The server closed an idle connection.')));
    socket.write(
      Buffer.concat([
        generate({
          ...{ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0 },
          ...{ clientId: `idle-${n}`, username, password: Buffer.from(password) },
        }),
        generate({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: `users/${username}/${n}`, qos: 1 }] }),
      ]),
    );
  });
}
