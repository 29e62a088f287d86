// Attacks by reading much: long histories and exports on many connections, live streams that are opened again and
// again, dry runs of imports, lists with costly filters.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type Attack, type AttackTarget, openSocket, pace, settled } from './harness/attack.ts';
import { ask, fillDevice, heard, keepOn, makePublicDevice, postHead, written } from './harness/attacker.ts';

const datapoints = 90_000;
const values = '/api/v2/devices/long/sensors/s/values';
const prepare = async (target: AttackTarget) => {
  await makePublicDevice(target, 'long');
  await fillDevice(target, 'long', { datapoints });
};

/** Asks for these in turns on so many connections, and reads all that comes as fast as it can. */
function readAll(target: AttackTarget, connections: number, paths: readonly string[]): Promise<void> {
  return keepOn(target, connections, async (connection, round) => {
    const socket = openSocket(target.http);
    await settled(socket);
    const path = paths[(connection + round) % paths.length];
    socket.write(`GET ${path} HTTP/1.1\r\nHost: d\r\nConnection: close\r\n\r\n`);
    while (!target.isOver() && (await heard(socket)) !== undefined);
    socket.destroy();
  });
}

const conditions = (field: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${field}${n % 2 === 0 ? '=~' : '!='}*${'a*'.repeat(20)}${n}`).join(';');

export const attacks: readonly Attack[] = [
  {
    name: 'reads a history of ninety thousand datapoints on fifty connections',
    against: 'computing',
    metBy: 'long reads stand in a thread of their own, callers in turns (engines/embedded/threads/reader-thread.ts)',
    prepare,
    run: (target) =>
      readAll(target, 50, [
        `${values}?format=ndjson`,
        `${values}?limit=30000`,
        `${values}?aggregate=mean&every=1s&limit=30000`,
        `${values}?limit=30000&order=desc`,
      ]),
  },
  {
    name: 'exports a history as CSV and as Parquet on twenty connections',
    against: 'computing',
    metBy:
      'what is exported goes in steps, the next when the one before is read (http/lists/row-streams.ts, parquet.ts)',
    prepare,
    run: (target) =>
      readAll(target, 20, [
        `${values}?format=csv`,
        `${values}?format=parquet`,
        '/api/v2/sensors_data?device_id=long&format=parquet',
        '/api/v2/sensors_data?device_id=long&format=csv&csv=spreadsheet',
      ]),
  },
  {
    name: 'tries imports of files of sixteen megabytes on ten connections',
    against: 'computing',
    metBy: 'imports have places, shared out, and are read as they come (importsMax of config/limits.ts)',
    run: async (target) => {
      const lines = Array.from(
        { length: 5_000 },
        (_, n) => `2026-01-01T00:00:${String(n % 60).padStart(2, '0')}Z,${n},x`,
      );
      const block = Buffer.from(`${lines.join('\n')}\n`);
      const head = Buffer.from('time,a,b\n');
      const blocks = Math.floor((15 * 1024 * 1024) / block.length);
      const search = new URLSearchParams({ dry_run: 'true', device: 'd' });
      await keepOn(target, 10, async () => {
        const socket = openSocket(target.http);
        await settled(socket);
        const opening = postHead(`/api/v2/import?${search}`, head.length + blocks * block.length);
        await written(socket, opening.replace('application/json', 'text/csv'));
        await written(socket, head);
        for (let n = 0; n < blocks && !target.isOver() && !socket.destroyed; n += 1) await written(socket, block);
        if (!target.isOver()) await heard(socket);
        // What the service has not read of it is dropped, so that it does not read on for a file that nobody sends any more.
        socket.resetAndDestroy();
      });
    },
  },
  {
    name: 'begins live streams as fast as it can, each with all that came before',
    against: 'shares',
    metBy: 'who comes back gets a bounded number of datapoints (domain/live/missed.ts)',
    prepare,
    run: async (target) => {
      // The first stream tells what an id looks like.
      const first = openSocket(target.http);
      first.write('GET /api/v2/devices/long/live HTTP/1.1\r\nHost: d\r\n\r\n');
      await heard(first);
      const push = ask(target, { path: values, json: { value: 1 } });
      let told = '';
      while (!told.includes('\nid: ') && !target.isOver()) told += String((await heard(first, 500)) ?? '');
      await push;
      const id = /\nid: ?(\S+)/.exec(told)?.[1] ?? '';
      assert.ok(id !== '' || target.isOver(), `no id in ${told}`);
      first.destroy();
      for (let n = 0; n < 50 && !target.isOver(); n += 1) {
        const json = Array.from({ length: 20 }, () => ({ value: 'x'.repeat(1_000) }));
        await ask(target, { path: values, json });
      }
      await keepOn(target, 20, async (_, round) => {
        const socket = openSocket(target.http);
        await settled(socket);
        const since = round % 2 === 0 ? id : `${id}9`;
        socket.write(`GET /api/v2/devices/long/live HTTP/1.1\r\nHost: d\r\nLast-Event-ID: ${since}\r\n\r\n`);
        await heard(socket, 1_000);
        socket.destroy();
      });
    },
  },
  {
    name: 'lists devices, projects, gateways and rules by filters that take long, in ten connections',
    against: 'computing',
    metBy: 'filters have a length and conditions (filterCharsMax of config/limits.ts), and are searched in a thread of their own (engines/embedded/threads/search-thread.ts)', // biome-ignore format: one line
    prepare: async (target) => {
      for (let from = 0; from < 300; from += 50) {
        const ids = Array.from({ length: 50 }, (_, n) => `filtered-${'a'.repeat(100)}-${from + n}`);
        await Promise.all(ids.map((id) => makePublicDevice(target, id)));
      }
    },
    run: async (target) => {
      const lists = ['devices', 'projects', 'gateways', 'notifications', 'socials'];
      await keepOn(target, 10, async (connection, round) => {
        const list = lists[(connection + round) % lists.length] ?? '';
        const search = new URLSearchParams({ q: conditions(round % 3 === 0 ? 'name' : 'id', 20), limit: '1000' });
        if (round % 2 === 0 && list === 'devices') search.set('order', '-heard');
        await ask(target, { path: `/api/v2/${list}?${search}` });
      });
    },
  },
  {
    name: 'lists devices by twenty conditions on the values of twenty thousand sensors, texts among them, in ten connections',
    against: 'computing',
    metBy: 'the log is read once for a search, long values are not compared, each search has a time (engines/embedded/reads/last-value-filter.ts)', // biome-ignore format: one line
    prepare: async (target) => {
      const token = target.adminToken;
      const sensors = Array.from({ length: 1_000 }, (_, n) => ({ id: `s${n}` }));
      for (let n = 0; n < 20; n += 1) {
        const json = { id: `valued-${n}`, visibility: 'public', sensors };
        const { status } = await ask(target, { path: '/api/v2/devices', json, token });
        assert.equal(status, 204);
        const rows = sensors.map(({ id }, at) => ({
          ...{ device_id: json.id, sensor_id: id },
          value: at % 10 === 0 ? { a: { b: 'x'.repeat(2_000) } } : at,
        }));
        const body = rows.map((row) => JSON.stringify(row)).join('\n');
        const headers = { 'content-type': 'application/x-ndjson' };
        const pushed = await ask(target, { path: '/api/v2/datapoints', body, headers, token });
        assert.equal(pushed.status, 200, pushed.text);
      }
    },
    run: async (target) => {
      await keepOn(target, 10, async (connection, round) => {
        const field = (n: number) => `sensors.last_value.value${n % 2 === 0 ? '' : '.a.b'}`;
        const q = Array.from({ length: 20 }, (_, n) => `${field(n)}!=x${connection}-${n}`).join(';');
        const order = round % 2 === 0 ? 'created' : '-heard';
        const { status } = await ask(target, {
          path: `/api/v2/devices?${new URLSearchParams({ q, order, limit: '1' })}`,
        });
        assert.ok([0, 200, 429, 503].includes(status), String(status));
      });
    },
  },
  {
    name: 'asks for the figures, the reference and every page of it on twenty connections without a pause',
    against: 'computing',
    metBy:
      'figures are for admins or a port of their own (http/server/metrics-server.ts); the reference is made once (http/docs/docs.ts)',
    run: async (target) => {
      const paths = ['/metrics', '/docs', '/openapi.json', '/', '/health/ready', '/docs/none', '/assets/none.js'];
      await keepOn(target, 20, async (connection, round) => {
        const isFigures = connection < 4;
        const path = isFigures ? '/metrics' : (paths[(connection + round) % paths.length] ?? '/');
        const { status } = await ask(target, { path, port: isFigures ? target.metrics : target.http });
        if (path === '/metrics' && !isFigures) assert.ok([0, 401, 429, 503].includes(status), String(status));
      });
    },
  },
  {
    name: 'asks for the reference with headers of Accept-Encoding that have thousands of parts',
    against: 'computing',
    metBy: 'the header is read once from left to right (http/server/accepted-encoding.ts)',
    run: async (target) => {
      const page = await ask(target, { path: '/docs' });
      const script = /src="([^"]+)"/.exec(page.text)?.[1] ?? '/docs';
      const accepted = [`${'gzip;q=0,'.repeat(1_500)}br`, ','.repeat(14_000), `gzip${' '.repeat(14_000)};q=1`, `${'*,'.repeat(6_000)}gzip;q=0.${'0'.repeat(1_000)}`]; // biome-ignore format: one line
      const sockets: Socket[] = [];
      for (let n = 0; n < 8; n += 1) {
        const socket = openSocket(target.http);
        sockets.push(socket);
        await settled(socket);
        const path = new URL(script, `${target.url}/docs`).pathname;
        const head = `HEAD ${path} HTTP/1.1\r\nHost: d\r\nAccept-Encoding: ${accepted[n % accepted.length]}\r\n\r\n`;
        void (async () => {
          while (!target.isOver() && !socket.destroyed) {
            await written(socket, head.repeat(20));
            await heard(socket);
          }
        })();
      }
      while (!target.isOver()) await pace(50);
      for (const socket of sockets) socket.destroy();
    },
  },
  {
    name: 'has a long history compressed on forty connections, of which half read nothing',
    against: 'computing',
    metBy:
      'compressors are few and shared, work in threads of the pool, and faster than answers are made; beyond, answers go as they are (http/server/compression.ts)',
    prepare,
    run: (target) =>
      keepOn(target, 40, async (connection, round) => {
        const socket = openSocket(target.http);
        await settled(socket);
        const format = ['format=csv', 'format=ndjson', 'limit=10000'][round % 3];
        const head = `GET ${values}?${format} HTTP/1.1\r\nHost: d\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n`;
        socket.write(head);
        if (connection % 2 === 0) socket.pause();
        else while (!target.isOver() && (await heard(socket, 1_000)) !== undefined);
        if (connection % 2 === 0) await pace(500);
        socket.destroy();
      }),
  },
];
