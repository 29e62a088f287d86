// The baseline of bulk: InfluxDB 1.x (Debian's package `influxdb`), where influxd is on the PATH; on the measured core as
// the server is, syncing each batch as it does by default, with its data in a temporary folder.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { ServerProcess } from '../server-process.ts';

const database = 'bench';

export class Influx {
  /** Where line protocol goes. */
  static readonly writePath = `/write?db=${database}&precision=ms`;
  readonly server: ServerProcess;
  readonly version: string;

  private constructor(server: ServerProcess, version: string) {
    this.server = server;
    this.version = version;
  }

  /** Undefined where there is no influxd. */
  static async start(folder: string): Promise<Influx | undefined> {
    const version = versionOf();
    if (version === undefined) return undefined;
    const [http, rpc] = [await freePort(), await freePort()];
    mkdirSync(folder, { recursive: true });
    const config = join(folder, 'influxdb.conf');
    writeFileSync(config, configOf(folder, { http, rpc }));
    const server = await ServerProcess.startProgram('influxd', ['run', '-config', config], {
      env: {},
      readReady: async (child) => {
        child.stdout?.resume();
        while (!(await isUp(http))) await pause(50);
        return { http };
      },
    });
    const influx = new Influx(server, version);
    await influx.#ask(`CREATE DATABASE ${database}`);
    return influx;
  }

  /** Datapoints that can be read back. */
  async count(): Promise<number> {
    const { results } = (await this.#ask('SELECT count(value) FROM m')) as {
      readonly results: readonly { readonly series?: readonly { readonly values: readonly number[][] }[] }[];
    };
    return results[0]?.series?.[0]?.values[0]?.[1] ?? 0;
  }

  async #ask(query: string): Promise<unknown> {
    const url = `http://127.0.0.1:${this.server.httpPort}/query?db=${database}&q=${encodeURIComponent(query)}`;
    return (await fetch(url, { method: 'POST' })).json();
  }
}

/** 1.x alone: what came later has other doors. */
function versionOf(): string | undefined {
  try {
    const text = execFileSync('influxd', ['version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return /^InfluxDB v?(1\.\S+)/.exec(text)?.[1];
  } catch {
    return undefined;
  }
}

function configOf(folder: string, { http, rpc }: { readonly http: number; readonly rpc: number }): string {
  return `reporting-disabled = true
bind-address = "127.0.0.1:${rpc}"
[meta]
  dir = "${join(folder, 'meta')}"
[data]
  dir = "${join(folder, 'data')}"
  wal-dir = "${join(folder, 'wal')}"
  query-log-enabled = false
  max-series-per-database = 0
  max-values-per-tag = 0
[monitor]
  store-enabled = false
[http]
  bind-address = "127.0.0.1:${http}"
  log-enabled = false
[logging]
  level = "error"
  suppress-logo = true
`;
}

async function isUp(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/ping`)).ok;
  } catch {
    return false;
  }
}
