// Filling the service with records (issue 13, seen 7): devices with long descriptions, and lists of them.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Attack } from './harness/attack.ts';
import { type Ask, addressOf, ask, keepOn } from './harness/attacker.ts';

const meta = { text: 'x'.repeat(15_000) };
const sensors = Array.from({ length: 14 }, (_, n) => ({ id: `s${n}`, meta }));

export const attacks: readonly Attack[] = [
  {
    name: 'makes devices with descriptions as long as they may be, and lists them',
    against: 'quotas',
    startsAgain: true,
    metBy:
      'guest’s quotas, kept by triggers (engines/embedded/database/migrations/0017-quotas.ts); lists go in steps (devices.ts)',
    run: async (target) => {
      const seen = new Set<number>();
      for (let n = 0; n < 400 && !target.isOver(); n++) {
        const body = JSON.stringify({ id: `heavy-${process.pid}-${n}`, sensors });
        const headers = { 'content-type': 'application/json' };
        const made = await fetch(`${target.url}/api/v2/devices`, { method: 'POST', headers, body });
        seen.add(made.status);
        await made.text();
        if (n % 10 !== 9) continue;
        const listed = await fetch(`${target.url}/api/v2/devices?limit=1000`);
        seen.add(listed.status);
        await listed.arrayBuffer();
      }
      assert.ok(
        [...seen].every((status) => status < 500 || status === 503),
        `answers: ${[...seen]}`,
      );
    },
  },
  {
    name: 'fills a service whose data have a cap, with descriptions, values and messages to be retained',
    against: 'quotas',
    startsAgain: true,
    metBy: 'guest’s quotas, and the cap is looked at before each commit (domain/datapoints/ingest/storage-quota.ts)',
    settings: {
      DUNDUN_DATA_MAX_BYTES: '200MB',
      DUNDUN_STRANGER_BYTES: '32MiB',
      DUNDUN_GUEST_QUOTAS: 'datapoint_bytes=32MiB',
    },
    run: async (target) => {
      const value = 'x'.repeat(60_000);
      const statuses = new Set<number>();
      await keepOn(target, 8, async (connection, round) => {
        const id = `fills-${connection}-${round % 5}`;
        const from = addressOf(connection * 40 + round);
        const path = `/api/v2/devices/${id}`;
        const asked: Ask[] = [
          { path: '/api/v2/devices', json: { id, sensors } },
          {
            path: `${path}/sensors/s0/values`,
            json: Array.from({ length: 20 }, (_, n) => ({ value: `${round}-${n}-${value}` })),
          },
          { path: `${path}/meta`, method: 'PUT', json: { text: value.slice(0, 15_000), round } },
        ];
        for (const one of asked) statuses.add((await ask(target, { ...one, from })).status);
      });
      for (const status of statuses) assert.ok(status < 500 || status === 503, `answered ${status}`);
    },
    hold: ({ folder }) => {
      const bytes = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
      assert.ok(bytes < 200_000_000, `the folder has ${bytes} bytes`);
    },
  },
];
