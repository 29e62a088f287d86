// Attacks by work that is long for its size: patterns, JSON, filters of lists.
import assert from 'node:assert/strict';
import { type Attack, type AttackTarget, pace } from './harness/attack.ts';

const bodyBytes = 16 * 1024 * 1024 - 64;

/** A request whose answer is refused in good time, or cut; errors of the connection are the attacker's own. */
async function send(target: AttackTarget, path: string, init: RequestInit = {}): Promise<number> {
  try {
    const answer = await fetch(`${target.url}${path}`, { ...init, signal: AbortSignal.timeout(10_000) });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

function listOf(item: string): string {
  return `[${Array.from({ length: Math.floor(bodyBytes / (item.length + 1)) - 4 }, () => item).join(',')}]`;
}

const json = { 'content-type': 'application/json' };

/** Sends it in several connections, again and again. */
async function keepOn(target: AttackTarget, connections: number, act: () => Promise<unknown>): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (!target.isOver()) {
        await act();
        await pace(1);
      }
    }),
  );
}

const watchedDevices = Array.from({ length: 300 }, (_, n) => `watched${n}`);
const watchedSensors = Array.from({ length: 20 }, (_, n) => `s${n}`);

const filter = Array.from({ length: 4 }, () => `meta.a.b==${Array.from({ length: 180 }, (_, n) => `v${n}`).join(',')}`).join(';'); // biome-ignore format: one line

export const attacks: readonly Attack[] = [
  {
    name: 'imports a file with a pattern of times that takes for ever to hold against a line',
    against: 'computing',
    metBy: 'patterns are matched piece by piece, ambiguous ones refused (http/import/time-pattern.ts)',
    run: async (target) => {
      const search = new URLSearchParams({ dry_run: 'true', device: 'd', time_format: `YYYYMD${'SSS'.repeat(19)}` });
      const legal = new URLSearchParams({ dry_run: 'true', device: 'd', time_format: `YYYY-M-D${'[.]'.repeat(18)}` });
      const body = `time,x\n${`2026-1-1${'.'.repeat(17)}x${'0'.repeat(60)},1\n`.repeat(10_000)}`;
      const headers = { 'content-type': 'text/csv' };
      await keepOn(target, 2, async () => {
        await send(target, `/api/v2/import?${search}`, {
          method: 'POST',
          headers,
          body: `t,x\n2026${'0'.repeat(60)}x,1\n`,
        });
        await send(target, `/api/v2/import?${legal}`, { method: 'POST', headers, body });
      });
    },
  },
  {
    name: 'imports objects of nineteen thousand keys each, and ones whose keys are all new and as long as may be',
    against: 'computing',
    metBy: 'the array is parsed item by item, the time is looked at for each line, too many keys are refused unread, and names analysed once (http/import/import-run.ts, rows.ts, columns.ts)', // biome-ignore format: one line
    run: async (target) => {
      const keys = Array.from({ length: 19_000 }, (_, n) => `"k${n.toString(36)}":0`).join(',');
      const wide = `[${Array.from({ length: 20 }, () => `{${keys}}`).join(',')}]`;
      const long = Array.from({ length: 1_900 }, (_, n) => `"${'ä'.repeat(1_000)}${n}":0`);
      const grown = `[{${long.slice(0, 1_000).join(',')}},${long
        .slice(1_000)
        .map((key) => `{${key}}`)
        .join(',')}]`;
      const path = '/api/v2/import?dry_run=true&device=d';
      await keepOn(target, 4, async () => {
        for (const body of [wide, grown]) await send(target, path, { method: 'POST', headers: json, body });
      });
    },
  },
  {
    name: 'sends bodies of JSON that take long to look at',
    against: 'computing',
    metBy: 'one pass over the text, its parts counted before it is parsed (base/text/json-text.ts); small bodies where small ones do (http/server/body-buffers.ts)', // biome-ignore format: one line
    run: async (target) => {
      const tooLong = `{"value":[${'0,'.repeat(690_000)}0]}`;
      const bodies = [listOf('1'.repeat(199)), `["\\u0041",${listOf('0').slice(8)}`, listOf('[]'), tooLong];
      let turn = 0;
      await keepOn(target, 1, async () => {
        const path = turn % 2 === 0 ? '/api/v2/auth/token' : '/api/v2/devices/none/sensors/s/values';
        await send(target, path, {
          method: 'POST',
          headers: json,
          body: bodies[Math.floor(turn / 2) % bodies.length] ?? '',
        });
        turn += 1;
      });
    },
  },
  {
    name: 'lists six thousand devices by a field of their meta, in ten connections',
    against: 'computing',
    metBy: 'lists are searched in a thread of their own, callers in turns, for 3 s at most (engines/embedded/threads/search-thread.ts)', // biome-ignore format: one line
    prepare: async (target) => {
      const headers = { ...json, authorization: `Bearer ${target.adminToken}` };
      for (let from = 0; from < 6_000; from += 50) {
        await Promise.all(
          Array.from({ length: 50 }, (_, n) => {
            const body = JSON.stringify({ id: `listed${from + n}`, visibility: 'public', meta: { a: { b: `w${n}`, c: 'x'.repeat(400) } } }); // biome-ignore format: one line
            return send(target, '/api/v2/devices', { method: 'POST', headers, body });
          }),
        );
      }
    },
    run: (target) =>
      keepOn(target, 10, () => send(target, `/api/v2/devices?q=${encodeURIComponent(filter)}&order=-heard`)),
  },
  {
    name: 'has fifty rules about twenty sensors of three hundred devices, and sends datapoints of all of them at once',
    against: 'computing',
    by: 'user',
    metBy: 'rules are parsed once for all their devices, in pieces, by who evaluates them (domain/notifications/watching/rule-entry.ts)', // biome-ignore format: one line
    prepare: async (target) => {
      const headers = { ...json, authorization: `Bearer ${target.userToken}` };
      const post = async (path: string, body: object) => {
        const status = await send(target, path, { method: 'POST', headers, body: JSON.stringify(body) });
        assert.ok(status === 200 || status === 204, `${path}: ${status}`);
      };
      const sensors = watchedSensors.map((id) => ({ id }));
      for (const id of watchedDevices) await post('/api/v2/devices', { id, sensors });
      const action = { usernames: [target.username], channels: ['none'], message: 'now' };
      const expression = watchedSensors.map((id) => `${id}>1`).join(' && ');
      const condition = { devices: watchedDevices, sensors: watchedSensors, expression };
      for (let n = 0; n < 50; n += 1) await post('/api/v2/notifications', { condition, action });
    },
    run: (target) => {
      const headers = { ...json, authorization: `Bearer ${target.userToken}` };
      const points = watchedDevices.flatMap((device_id) => watchedSensors.map((sensor_id) => ({ device_id, sensor_id, value: 0 }))); // biome-ignore format: one line
      const body = JSON.stringify(points);
      return keepOn(target, 5, () => send(target, '/api/v2/datapoints', { method: 'POST', headers, body }));
    },
  },
];
