// Pages of lists and permission queries among 100 000 devices: each question on its own, as a person who waits asks it.
import type { BenchOptions } from '../arguments.ts';
import { Latencies, shown, table } from '../figures.ts';
import { Fleet } from '../fleet.ts';
import type { Section } from '../section.ts';

const devices = 100_000;
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
  'in order of names': 'devices?order=name',
  'in order of names, the last page': `devices?order=name&offset=${last}`,
  'searched, in order of names': 'devices?search=9999&order=name',
  'last heard first': 'devices?order=-heard',
  'silent since, longest first': 'devices?order=heard&q=date_modified%3C2100-01-01T00:00:00Z',
  'permissions on devices': 'auth/permissions/devices?limit=20',
  'permissions, the last page': `auth/permissions/devices?limit=20&offset=${last}`,
  'permissions on gateways': 'auth/permissions/gateways?limit=20',
};

export async function measureLists(options: BenchOptions, dataDir: string): Promise<Section> {
  const fleet = await Fleet.start({ dataDir, devices: 0, sensorsEach: 0, profile: options.profile });
  try {
    await fleet.make(devices, deviceOf);
    await fleet.server.quiet();
    const idleMib = fleet.server.rssMib();
    const rows: string[][] = [];
    let slowestMs = 0;
    for (const [name, path] of Object.entries(questions)) {
      for (const login of [Fleet.login, undefined]) {
        const headers = login === undefined ? {} : { authorization: `Bearer ${await fleet.token()}` };
        const times = await ask(fleet, path, headers);
        const [p50 = Number.NaN, p99 = Number.NaN] = times.percentiles(50, 99);
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

function deviceOf(n: number): object {
  return {
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
  };
}

/** How long each answer took. */
async function ask(fleet: Fleet, path: string, headers: Readonly<Record<string, string>>): Promise<Latencies> {
  const times = new Latencies();
  for (let n = 0; n < warmUps + asks; n++) {
    const startMs = performance.now();
    await (await fleet.send('GET', path, { headers })).arrayBuffer();
    if (n >= warmUps) times.add(performance.now() - startMs);
  }
  return times;
}
