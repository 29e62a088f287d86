// A server for the demo alone: a child process with a temporary folder and free ports, both gone afterwards.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ServerAddress } from './options.ts';

export interface OwnServer extends ServerAddress {
  stop(): Promise<void>;
}

export async function startOwnServer(): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), 'dundun-demo-'));
  const password = randomBytes(15).toString('base64url');
  const entry = fileURLToPath(new URL('../../bin/dundun.js', import.meta.url));
  const child = spawn(process.execPath, [entry, 'serve'], {
    env: {
      ...process.env,
      DUNDUN_DATA_DIR: folder,
      DUNDUN_ADMIN_PASSWORD: password,
      DUNDUN_HTTP_HOST: '127.0.0.1',
      DUNDUN_HTTP_PORT: '0',
      DUNDUN_MQTT_PORT: '0',
      DUNDUN_MQTT_PROXY_PROTOCOL: 'off',
      DUNDUN_LOG_LEVEL: 'warn',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  process.once('exit', () => {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  // Ctrl-C reaches the child as well; the demo itself ends by way of `exit`, so that the folder goes.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const { http, mqtt } = await readReady(child.stdout);
  return {
    url: `http://127.0.0.1:${http}`,
    mqtt: `mqtt://127.0.0.1:${mqtt}`,
    user: 'admin',
    password,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function readReady(output: NodeJS.ReadableStream): Promise<{ readonly http: number; readonly mqtt: number }> {
  for await (const line of createInterface({ input: output })) {
    if (!line.startsWith('{"msg":"ready"')) continue;
    output.resume();
    return JSON.parse(line) as { http: number; mqtt: number };
  }
  throw new Error('The server ended before it was ready; see above.');
}
