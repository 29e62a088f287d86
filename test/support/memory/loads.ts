// Loads under which a service takes the most memory, for tests and for the bench: each does its worst for a bounded time,
// lets go of what it opened, and expects to be refused and cut. All go to one service on this machine.
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { generate } from 'mqtt-packet';

/** A running service, and a login of one who may make devices there. */
interface LoadTarget {
  readonly http: number;
  readonly mqtt: number;
  readonly login: { readonly username: string; readonly password: string };
  readonly token: string;
}

interface LoadSize {
  /** Datapoints of the history that is read. */
  readonly history: number;
  /** Sensors that are busy. */
  readonly sensors: number;
  /** Milliseconds that a load without an end of its own lasts. */
  readonly ms: number;
}

interface MemoryLoad {
  readonly name: string;
  /** What the load finds in place; not measured. */
  readonly prepare?: (target: LoadTarget, size: LoadSize) => Promise<void>;
  readonly run: (target: LoadTarget, size: LoadSize) => Promise<void>;
}

const bulkDatapoints = 30_000;
const history = '/api/v2/devices/history/sensors/s/values';
const sensorsOfDevice = 100;

/** A connection whose errors are nobody's; `from` is an address of the loopback network. */
async function open(port: number, from = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => {});
  await new Promise<void>((resolve) => {
    socket.once('connect', () => resolve());
    socket.once('close', () => resolve());
  });
  return socket;
}

/** Tries again where the connection is cut: a service that is short of memory does so, and an idle one may be closed. */
async function post({ http, token }: LoadTarget, path: string, json: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify(json);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await fetch(`http://127.0.0.1:${http}${path}`, { method: 'POST', headers, body });
      await answer.arrayBuffer();
      return answer.status;
    } catch (error) {
      if (attempt === 10) throw error;
      await pause(200);
    }
  }
}

/** Pushes until it is stored: a service that is short of room says so. */
async function pushAll(target: LoadTarget, path: string, json: unknown): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const status = await post(target, path, json);
    if (status === 204) return;
    if (status !== 503) throw new Error(`${path}: ${status}`);
    await pause(200);
  }
  throw new Error(`${path}: refused again and again`);
}

async function makeHistory(target: LoadTarget, { history: datapoints }: LoadSize): Promise<void> {
  await post(target, '/api/v2/devices', { id: 'history', visibility: 'public', sensors: [{ id: 's' }] });
  for (let from = 0; from < datapoints; from += bulkDatapoints) {
    const array = Array.from({ length: Math.min(bulkDatapoints, datapoints - from) }, (_, n) => ({
      value: ((from + n) * 7_919) % 100_003,
      timestamp: new Date(1_700_000_000_000 + (from + n) * 1_000).toISOString(),
    }));
    await pushAll(target, history, array);
  }
}

/** Reads these on so many connections, in turns, as fast as it can, for so long. */
async function readOn(
  { http, token }: LoadTarget,
  { connections, paths, ms }: { readonly connections: number; readonly paths: readonly string[]; readonly ms: number },
): Promise<void> {
  const end = AbortSignal.timeout(ms);
  const headers = { authorization: `Bearer ${token}` };
  const each = async (n: number) => {
    for (let round = n; !end.aborted; round += 1) {
      const answer = await fetch(`http://127.0.0.1:${http}${paths[round % paths.length]}`, { headers, signal: end });
      for await (const _ of answer.body ?? []);
      if (!answer.ok) await pause(100);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, n) => each(n).catch(() => {})));
}

const stalledBodies: MemoryLoad = {
  name: '150 bodies of 15 MB that stall',
  run: async ({ http }, { ms }) => {
    const piece = Buffer.alloc(1_000_000, '[');
    const head = `POST ${history} HTTP/1.1\r\nHost: d\r\nContent-Type: application/json\r\nContent-Length: 16000000\r\n\r\n`;
    const sockets: Socket[] = [];
    for (let n = 0; n < 150; n += 1) {
      const socket = await open(http, `127.0.0.${40 + (n % 6)}`);
      sockets.push(socket);
      socket.write(head);
      for (let sent = 0; sent < 15; sent += 1) socket.write(piece);
    }
    await pause(ms);
    for (const socket of sockets) socket.destroy();
  },
};

const parallelReads: MemoryLoad = {
  name: '16 reads at once over a long history',
  prepare: makeHistory,
  run: (target, { ms }) =>
    readOn(target, {
      ...{ connections: 16, ms },
      paths: [`${history}?format=ndjson`, `${history}?aggregate=mean&every=1h`, `${history}?points=3000`],
    }),
};

const exports: MemoryLoad = {
  name: '20 exports at once as CSV and Parquet',
  prepare: makeHistory,
  run: (target, { ms }) =>
    readOn(target, {
      ...{ connections: 20, ms },
      paths: [
        `${history}?format=csv`,
        `${history}?format=parquet`,
        '/api/v2/sensors_data?device_id=history&format=parquet',
        '/api/v2/sensors_data?device_id=history&format=csv&csv=spreadsheet',
      ],
    }),
};

const liveStreams: MemoryLoad = {
  name: 'live streams begun again and again, each with all it missed',
  run: async (target, { ms }) => {
    const path = '/api/v2/devices/streamed/sensors/s/values';
    await post(target, '/api/v2/devices', { id: 'streamed', visibility: 'public', sensors: [{ id: 's' }] });
    const first = await open(target.http);
    let told = '';
    first.on('data', (bytes) => {
      told += bytes;
    });
    const ask = (id?: string) =>
      `GET /api/v2/devices/streamed/live HTTP/1.1\r\nHost: d\r\n${id === undefined ? '' : `Last-Event-ID: ${id}\r\n`}\r\n`;
    first.write(ask());
    while (!told.includes('\nid: ')) {
      await pushAll(target, path, { value: 1 });
      await pause(50);
    }
    const id = /\nid: ?(\S+)/.exec(told)?.[1] ?? '';
    for (let n = 0; n < 50; n += 1) {
      await pushAll(target, path, Array.from({ length: 20 }, () => ({ value: 'x'.repeat(1_000) }))); // biome-ignore format: one line
    }
    const endMs = performance.now() + ms;
    const each = async (n: number) => {
      for (let round = n; performance.now() < endMs; round += 1) {
        const socket = await open(target.http, '127.0.0.3');
        socket.write(ask(round % 2 === 0 ? id : `${id}9`));
        await new Promise<void>((resolve) => {
          socket.once('data', () => resolve());
          socket.once('close', () => resolve());
          setTimeout(resolve, 1_000);
        });
        socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => each(n)));
    first.destroy();
  },
};

const busySensors: MemoryLoad = {
  name: 'many sensors that each send, over MQTT',
  prepare: async (target, { sensors }) => {
    let next = 0;
    const make = async () => {
      while (next < sensors / sensorsOfDevice) {
        const parts = Array.from({ length: sensorsOfDevice }, (_, s) => ({ id: `sensor-${s}`, unit: '°C' }));
        await post(target, '/api/v2/devices', { id: `busy-${next++}`, sensors: parts });
      }
    };
    await Promise.all(Array.from({ length: 8 }, make));
  },
  run: async (target, { sensors, ms }) => {
    const clients = 50;
    const endMs = performance.now() + ms;
    const each = (n: number) => publishOn(target, { clientId: `busy-${n}`, window: 200, endMs, topicOf: (k) => busyTopic((k * clients + n) % sensors) }); // biome-ignore format: one line
    await Promise.all(Array.from({ length: clients }, (_, n) => each(n)));
  },
};

const flood: MemoryLoad = {
  name: '200 MQTT clients with 1 000 publishes each outstanding',
  run: async (target, { ms }) => {
    await post(target, '/api/v2/devices', { id: 'busy-0', sensors: [{ id: 'sensor-0' }] });
    const endMs = performance.now() + ms;
    const each = (n: number) => publishOn(target, { clientId: `flood-${n}`, window: 1_000, endMs, topicOf: () => busyTopic(0) }); // biome-ignore format: one line
    await Promise.all(Array.from({ length: 200 }, (_, n) => each(n)));
  },
};

const arrays: MemoryLoad = {
  name: 'arrays of 30 000 datapoints on eight connections',
  run: async (target, { ms }) => {
    await post(target, '/api/v2/devices', { id: 'arrays', sensors: [{ id: 's' }] });
    const array = Array.from({ length: bulkDatapoints }, (_, n) => ({
      value: n + 0.123456,
      timestamp: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
    }));
    const endMs = performance.now() + ms;
    const each = async (n: number) => {
      for (let round = 0; performance.now() < endMs; round += 1) {
        array[0] = { value: n * 1e6 + round, timestamp: '2024-01-01T00:00:00Z' };
        // Where memory is scarce a body is refused before it was read, and the connection is cut.
        await post(target, '/api/v2/devices/arrays/sensors/s/values', array).catch(() => pause(20));
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, n) => each(n)));
  },
};

const busyTopic = (n: number) =>
  `devices/busy-${Math.floor(n / sensorsOfDevice)}/sensors/sensor-${n % sensorsOfDevice}/value`;

interface Publishing {
  readonly clientId: string;
  readonly window: number;
  readonly endMs: number;
  topicOf(k: number): string;
}

/** Keeps a window of QoS 1 publishes full until the end. */
async function publishOn(target: LoadTarget, { clientId, window, endMs, topicOf }: Publishing): Promise<void> {
  const socket = await open(target.mqtt);
  const { username, password } = target.login;
  socket.write(generate({ cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, clientId, keepalive: 60, username, password: Buffer.from(password) })); // biome-ignore format: one line
  let sent = 0;
  let rest: Buffer = Buffer.alloc(0);
  const send = (ids: readonly number[]) => {
    const packets = ids.map((messageId) => generate({ cmd: 'publish', topic: topicOf(sent++), payload: String(sent % 1_000), qos: 1, dup: false, retain: false, messageId })); // biome-ignore format: one line
    socket.write(Buffer.concat(packets));
  };
  socket.on('data', (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    const free: number[] = [];
    let at = 0;
    for (; at + 4 <= bytes.length; at += 4) {
      if (bytes[at] === 0x20) for (let id = 1; id <= window; id += 1) free.push(id);
      if (bytes[at] === 0x40) free.push(bytes.readUInt16BE(at + 2));
    }
    rest = bytes.subarray(at);
    if (free.length > 0 && performance.now() < endMs) send(free);
  });
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    setTimeout(resolve, Math.max(0, endMs - performance.now()));
  });
  socket.destroy();
}

export const memoryLoads: readonly MemoryLoad[] = [
  stalledBodies,
  parallelReads,
  exports,
  liveStreams,
  busySensors,
  flood,
  arrays,
];
