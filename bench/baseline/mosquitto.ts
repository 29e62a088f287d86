// A baseline of fan-out: Eclipse Mosquitto (Debian's package `mosquitto`), where it is on the PATH; on the measured core
// as the server is, without accounts, nothing kept beyond memory.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { ServerProcess } from '../server-process.ts';

export interface Mosquitto {
  readonly server: ServerProcess;
  readonly version: string;
}

/** Undefined where there is no mosquitto. */
export async function startMosquitto(folder: string): Promise<Mosquitto | undefined> {
  const version = versionOf();
  if (version === undefined) return undefined;
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'mosquitto.conf');
  writeFileSync(config, configOf(port));
  const server = await ServerProcess.startProgram('mosquitto', ['-c', config], {
    env: {},
    readReady: async (child) => {
      child.stdout?.resume();
      while (!(await isUp(port))) await pause(50);
      return { mqtt: port };
    },
  });
  return { server, version };
}

function versionOf(): string | undefined {
  try {
    return /^mosquitto version (\S+)/m.exec(
      execFileSync('mosquitto', ['-h'], { encoding: 'utf8', stdio: 'pipe' }),
    )?.[1];
  } catch (error) {
    // It leaves with a code of its own when it only tells how it is called.
    return /^mosquitto version (\S+)/m.exec((error as { readonly stdout?: string }).stdout ?? '')?.[1];
  }
}

/** As many messages may wait as come: otherwise it drops some, where the others hold up the publisher. */
function configOf(port: number): string {
  return `listener ${port} 127.0.0.1
allow_anonymous true
persistence false
max_inflight_messages 0
max_queued_messages 0
log_type error
log_dest stderr
`;
}

function isUp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
