// The account, devices and sensors that the load goes to, and the count of what the server holds of them afterwards.
// Everything by the server's own doors: the command line for the account, REST for the rest.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ServerProcess } from './server-process.ts';

/** Devices that are on their way to the server at once. */
const madeAtOnce = 50;

export const dundunEntry = fileURLToPath(new URL('../bin/dundun.js', import.meta.url));

export interface FleetOptions {
  readonly dataDir: string;
  readonly devices: number;
  readonly sensorsEach: number;
  readonly profile: string | undefined;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running Dundun with an owner (no admin) and the devices of that owner. */
export class Fleet {
  static readonly login = { username: 'bench', password: 'bench-password' };
  readonly server: ServerProcess;
  /** `devices/{d}/sensors/{s}` of every sensor. */
  readonly sensors: readonly string[];

  private constructor(server: ServerProcess, sensors: readonly string[]) {
    this.server = server;
    this.sensors = sensors;
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const server = await startDundun(options);
    execFileSync(process.execPath, [dundunEntry, 'user', 'add', Fleet.login.username, '--password-stdin'], {
      env: { ...process.env, DUNDUN_DATA_DIR: options.dataDir, ...options.env },
      input: Fleet.login.password,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const sensors: string[] = [];
    const fleet = new Fleet(server, sensors);
    const authorization = `Bearer ${await fleet.token()}`;
    for (let d = 1; d <= options.devices; d++) {
      const parts = Array.from({ length: options.sensorsEach }, (_, s) => ({ id: `sensor-${s + 1}`, unit: '°C' }));
      await fleet.#fetch('devices', {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ id: `device-${d}`, name: `Device ${d}`, sensors: parts }),
      });
      for (const { id } of parts) sensors.push(`devices/device-${d}/sensors/${id}`);
    }
    return fleet;
  }

  /** A fresh token of the owner; one lasts ten minutes. */
  async token(): Promise<string> {
    const answer = await this.#fetch('auth/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(Fleet.login),
    });
    return answer.text();
  }

  /** An API key of the owner, for what lasts longer than a token. */
  async key(): Promise<string> {
    const answer = await this.#fetch('auth/keys', {
      method: 'POST',
      headers: { authorization: `Bearer ${await this.token()}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'bench' }),
    });
    return ((await answer.json()) as { readonly key: string }).key;
  }

  /** Datapoints that can be read back, over all sensors. */
  async count(): Promise<number> {
    const authorization = `Bearer ${await this.token()}`;
    let count = 0;
    // Each device at once, because one call for each of 100 000 sensors takes minutes.
    for (const device of new Set(this.sensors.map((sensor) => sensor.split('/')[1]))) {
      const answer = await this.#fetch(`sensors_data?device_id=${device}&format=ndjson`, {
        headers: { authorization },
      });
      for await (const bytes of answer.body ?? []) count += countLines(bytes);
    }
    return count;
  }

  /** Makes so many further devices, as `deviceOf` describes them, the first with 1. */
  async make(count: number, deviceOf: (n: number) => object): Promise<void> {
    const headers = { authorization: `Bearer ${await this.key()}`, 'content-type': 'application/json' };
    let next = 1;
    const make = async () => {
      while (next <= count) {
        const body = JSON.stringify(deviceOf(next++));
        await this.send('POST', 'devices', { headers, body });
      }
    };
    await Promise.all(Array.from({ length: madeAtOnce }, make));
  }

  /** The same devices on a server that was started again. */
  on(server: ServerProcess): Fleet {
    return new Fleet(server, this.sensors);
  }

  /** How a fleet of so many sensors is divided into devices. */
  static shapeOf(sensors: number): { readonly devices: number; readonly sensorsEach: number } {
    const sensorsEach = sensors <= 1_000 ? 2 : 100;
    return { devices: Math.ceil(sensors / sensorsEach), sensorsEach };
  }

  /** Calls a path below `/api/v2`. @throws Error when the answer is no success. */
  send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    return this.#fetch(path, { ...init, method });
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const url = `http://127.0.0.1:${this.server.httpPort}/api/v2/${path}`;
    const answer = await fetch(url, init);
    if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  }
}

export function startDundun(options: Pick<FleetOptions, 'dataDir' | 'profile' | 'env'>): Promise<ServerProcess> {
  const profiling = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`];
  return ServerProcess.start(dundunEntry, {
    args: ['serve'],
    env: {
      NODE_OPTIONS: [process.env['NODE_OPTIONS'] ?? '', ...profiling].join(' ').trim(),
      DUNDUN_DATA_DIR: options.dataDir,
      DUNDUN_ADMIN_PASSWORD: 'admin-password',
      DUNDUN_HTTP_HOST: '127.0.0.1',
      DUNDUN_HTTP_PORT: '0',
      DUNDUN_MQTT_PORT: '0',
      DUNDUN_METRICS_PORT: '0',
      DUNDUN_LOG_LEVEL: 'warn',
      ...options.env,
    },
  });
}

function countLines(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines += 1;
  return lines;
}
