// Pages of lists and permission queries among 100 000 devices: each question on its own, as a person who waits asks it.
import type { BenchOptions } from '../arguments.ts';
import { shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import type { Section } from '../section.ts';

const devices = 100_000;
const askedAtOnce = 50;
const pageMsMax = 50;
const warmUps = 5;
const asks = 60;
/** A page may cost memory while it is made, and no more than this, MiB, afterwards. */
const growthMibMax = 64;

const last = devices - 20;
const questions: Readonly<Record<string, string>> = {
  'the first page': 'devices',
  'a page of 1000': 'devices?limit=1000',
  'the last page': `devices?offset=${last}`,
  'by owner': 'devices?q=owner==bench',
  'by domain': 'devices?q=domain==domain-7',
  'by name': 'devices?q=name==Device%2099999',
  'by visibility and gateway': 'devices?q=visibility==public;gateway_id==gateway-17',
  'by a sensor': 'devices?q=sensors.unit==hPa',
  'permissions on devices': 'auth/permissions/devices?limit=20',
  'permissions, the last page': `auth/permissions/devices?limit=20&offset=${last}`,
  'permissions on gateways': 'auth/permissions/gateways?limit=20',
};

export async function measureLists(options: BenchOptions, dataDir: string): Promise<Section> {
  const fleet = await Fleet.start({ dataDir, devices: 0, sensorsEach: 0, profile: options.profile });
  try {
    await makeDevices(fleet);
    await fleet.server.quiet();
    const idleMib = fleet.server.rssMib();
    const rows: string[][] = [];
    let slowestMs = 0;
    for (const [name, path] of Object.entries(questions)) {
      for (const login of [Fleet.login, undefined]) {
        const headers = login === undefined ? {} : { authorization: `Bearer ${await fleet.token()}` };
        const times = await ask(fleet, path, headers);
        const [p50, p99] = [at(times, 0.5), at(times, 0.99)];
        if (!path.includes('limit=1000')) slowestMs = Math.max(slowestMs, p50);
        rows.push([name, login === undefined ? 'guest' : 'owner', shown(p50), shown(p99)]);
      }
    }
    await fleet.server.quiet();
    const growthMib = fleet.server.rssMib() - idleMib;
    return {
      title: 'Pages among 100 000 devices',
      how: `${shown(devices)} devices with two sensors each, half of them public; a question at a time, ${asks} times each, over one connection; milliseconds from asking to the last byte.`,
      tables: [
        table(['question', 'asked by', 'median ms', 'p99 ms'], rows),
        table(
          ['memory', 'MiB'],
          [
            ['with all devices stored', shown(idleMib)],
            ['more after all questions', shown(growthMib)],
          ],
        ),
      ],
      verdicts: [
        {
          target: `pages of 20: the slowest median ${shown(slowestMs)} ms, target under ${pageMsMax} ms`,
          outcome: slowestMs < pageMsMax ? 'reached' : 'missed',
        },
        {
          target: `memory: ${shown(growthMib)} MiB more after all questions, target under ${growthMibMax} MiB`,
          outcome: growthMib < growthMibMax ? 'reached' : 'missed',
        },
      ],
      faults: [],
    };
  } finally {
    await fleet.server.stop();
  }
}

async function makeDevices(fleet: Fleet): Promise<void> {
  const authorization = `Bearer ${await fleet.token()}`;
  let next = 1;
  const make = async () => {
    while (next <= devices) {
      const n = next++;
      await fleet.send('POST', 'devices', {
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({
          id: `device-${n}`,
          name: `Device ${n}`,
          domain: `domain-${n % 20}`,
          gateway_id: `gateway-${n % 1000}`,
          visibility: n % 2 === 0 ? 'public' : 'private',
          location: { latitude: (n % 180) - 90, longitude: (n % 360) - 180 },
          sensors: [
            { id: 'temperature', unit: '°C' },
            { id: 'pressure', unit: n % 5000 === 0 ? 'hPa' : 'Pa' },
          ],
        }),
      });
    }
  };
  await Promise.all(Array.from({ length: askedAtOnce }, make));
}

/** Milliseconds of each answer, sorted. */
async function ask(fleet: Fleet, path: string, headers: Readonly<Record<string, string>>): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < warmUps + asks; n++) {
    const startMs = performance.now();
    await (await fleet.send('GET', path, { headers })).arrayBuffer();
    if (n >= warmUps) times.push(performance.now() - startMs);
  }
  return times.sort((a, b) => a - b);
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
