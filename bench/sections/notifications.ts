// Notifications: what 100 000 rules cost MQTT publishes, of which one in a hundred watches a sensor that is busy; and how
// soon a provider hears of a push when rules fire a thousand times a second.
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { BenchOptions } from '../arguments.ts';
import { takeTurns } from '../comparison.ts';
import { Latencies, shown, table } from '../figures.ts';
import { dundunEntry, Fleet } from '../fleet.ts';
import { summarise } from '../load/load.ts';
import { MqttLoad } from '../load/mqtt-load.ts';
import { judgeCounts, judgeRatio, roundsTable, type Section, type Verdict } from '../section.ts';

const rules = 100_000;
const busyEvery = 100;
const rulesPerUser = 10_000;
const madeAtOnce = 100;
const ratioMin = 0.85;
const devices = 100;
const sensorsEach = 2;
const firingsPerS = 1_000;
const toProviderMsMax = 100;
const drainMsMax = 30_000;
/** Seconds of firings before those that are measured: a server does not meet its first thousand while it starts. */
const warmUpS = 2;

export async function measureNotifications(options: BenchOptions, dataDir: string): Promise<Section> {
  const { profile } = options;
  const fleetOptions = { devices, sensorsEach, profile, env: { DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' } };
  const watched = await Fleet.start({ ...fleetOptions, dataDir: join(dataDir, 'watched') });
  const plain = await Fleet.start({ ...fleetOptions, dataDir: join(dataDir, 'plain') });
  try {
    const plainMib = watched.server.rssMib();
    await makeRules(watched, join(dataDir, 'watched'));
    await watched.server.quiet();
    const rulesMib = watched.server.rssMib() - plainMib;
    const { mqttClients: clients, mqttWindow: window } = options;
    const sides = [watched, plain].map((fleet, n) => {
      const topics = fleet.sensors.map((sensor) => `${sensor}/value`);
      const load = new MqttLoad({ port: fleet.server.mqttPort, clients, window, topics, login: Fleet.login });
      return {
        name: n === 0 ? '100 000 rules' : 'no rules',
        server: fleet.server,
        load: (seconds: number) => load.run(seconds),
      };
    });
    const [ours, theirs] = await takeTurns('notifications', sides, options);
    if (ours === undefined || theirs === undefined) throw new Error('A side is missing.');
    const counts = [judgeCounts(ours.all, await watched.count()), judgeCounts(theirs.all, await plain.count())];
    const rounds = [summarise(ours.measured), summarise(theirs.measured)] as const;
    const sent = await timeFirings(plain, options.seconds * 2);
    return {
      title: 'Notifications',
      how: `${shown(rules)} rules, one in ${busyEvery} of them on the sensors that are published to, ${clients} clients with ${window} publishes outstanding each. ${counts.map(({ line }) => line).join(' ')} Then ${shown(sent.pushes)} pushes over REST, ${shown(firingsPerS)} a second, each of which makes a rule post to a webhook: from the push to the provider; the first ${warmUpS} s of them warm up.`,
      tables: [
        roundsTable(sides.map(({ name }, n) => ({ name, rounds: rounds[n === 0 ? 0 : 1] }))),
        table(
          ['push to provider', 'value'],
          [
            ['median ms', shown(sent.p50Ms)],
            ['p99 ms', shown(sent.p99Ms)],
            ['MiB for the rules', shown(rulesMib)],
          ],
        ),
      ],
      verdicts: [judgeRatio('MQTT publishes beside rules', rounds, ratioMin), sent.verdict],
      faults: [...counts.flatMap(({ faults }) => faults), ...sent.faults],
    };
  } finally {
    await Promise.all([watched.server.stop(), plain.server.stop()]);
  }
}

/** Rules by the public door, of as many users as it takes; those that are busy look at each value and rarely hold. */
async function makeRules(fleet: Fleet, dataDir: string): Promise<void> {
  const users = Math.ceil(rules / rulesPerUser);
  const tokens: string[] = [];
  for (let user = 0; user < users; user++) {
    const username = `author-${user}`;
    const [command, ...args] = ['user', 'add', username, '--password-stdin'];
    execFileSync(process.execPath, [dundunEntry, command as string, ...args], {
      env: { ...process.env, DUNDUN_DATA_DIR: dataDir },
      input: Fleet.login.password,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const answer = await fleet.send('POST', 'auth/token', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: Fleet.login.password }),
    });
    tokens.push(await answer.text());
  }
  let next = 0;
  const make = async () => {
    while (next < rules) {
      const n = next++;
      const sensor = fleet.sensors[Math.floor(n / busyEvery) % fleet.sensors.length] as string;
      const [, busyDevice = '', , busySensor = ''] = sensor.split('/');
      const isBusy = n % busyEvery === 0;
      const [device, id] = isBusy ? [busyDevice, busySensor] : [`quiet-${n % 10_000}`, 'TC'];
      await fleet.send('POST', 'notifications', {
        headers: { authorization: `Bearer ${tokens[n % users]}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          condition: { devices: [device], sensors: [id], expression: `${id}>99.9` },
          action: { usernames: [Fleet.login.username], channels: ['none'], message: `{id} is at {${id}} °C` },
          throttling: 3600,
        }),
      });
    }
  };
  await Promise.all(Array.from({ length: madeAtOnce }, make));
}

interface Sent {
  readonly pushes: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly verdict: Verdict;
  readonly faults: string[];
}

async function timeFirings(fleet: Fleet, seconds: number): Promise<Sent> {
  const pushedMs = new Map<string, number>();
  let latencies = new Latencies();
  let doubles = 0;
  const provider = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => {
      body += bytes;
    });
    request.on('end', () => {
      response.writeHead(204).end();
      const { message } = (JSON.parse(body) as { data: { message: string } }).data;
      const startedMs = pushedMs.get(message);
      if (startedMs === undefined) doubles += 1;
      else latencies.add(performance.now() - startedMs);
      pushedMs.delete(message);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  try {
    const headers = { authorization: `Bearer ${await fleet.token()}`, 'content-type': 'application/json' };
    await makeFiringRule(fleet, headers, `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`);
    let pushes = 0;
    const pushFor = async (forS: number): Promise<void> => {
      const under: Promise<unknown>[] = [];
      const startMs = performance.now();
      const before = pushes;
      for (let elapsedMs = 0; elapsedMs < forS * 1000; elapsedMs = performance.now() - startMs) {
        for (; pushes - before < (elapsedMs * firingsPerS) / 1000; pushes++) {
          pushedMs.set(String(pushes), performance.now());
          const body = JSON.stringify({ value: pushes });
          under.push(fleet.send('POST', 'devices/firing/sensors/n/values', { headers, body }));
        }
        await pause(2);
      }
      await Promise.all(under);
      for (let waitedMs = 0; pushedMs.size > 0 && waitedMs < drainMsMax; waitedMs += 100) await pause(100);
    };
    await pushFor(warmUpS);
    latencies = new Latencies();
    await pushFor(seconds);
    const [p50Ms = Number.NaN, p99Ms = Number.NaN] = latencies.percentiles(50, 99);
    const faults = [
      ...(pushedMs.size > 0 ? [`${pushedMs.size} firings of ${pushes} did not reach the provider.`] : []),
      ...(doubles > 0 ? [`The provider was told ${doubles} times of what it knew.`] : []),
    ];
    const target = `push to provider at ${shown(firingsPerS)} firings a second: p99 ${shown(p99Ms)} ms, target under ${toProviderMsMax} ms`;
    return {
      pushes,
      p50Ms,
      p99Ms,
      verdict: { target, outcome: p99Ms < toProviderMsMax ? 'reached' : 'missed' },
      faults,
    };
  } finally {
    provider.closeAllConnections();
    provider.close();
  }
}

async function makeFiringRule(fleet: Fleet, headers: Record<string, string>, address: string): Promise<void> {
  const { id } = (await (await fleet.send('GET', 'users/me', { headers })).json()) as { id: string };
  await fleet.send('PUT', `users/${id}`, { headers, body: JSON.stringify({ webhook: [address] }) });
  await fleet.send('POST', 'devices', { headers, body: JSON.stringify({ id: 'firing', sensors: [{ id: 'n' }] }) });
  const action = { usernames: [Fleet.login.username], channels: ['webhook'], message: '{n}' };
  const condition = { devices: ['firing'], sensors: ['n'], expression: 'n>=0' };
  await fleet.send('POST', 'notifications', { headers, body: JSON.stringify({ condition, action }) });
}
