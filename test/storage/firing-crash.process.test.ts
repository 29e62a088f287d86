// Kills the server while many rules fire, sometimes with a power failure (I5): every stored datapoint has made every
// rule that watches its sensor fire exactly once, and the provider got each message at least once. Messages that it
// got twice have the same id, and are no more than were being sent at a kill.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { CrashSite } from '../support/crash/crash-site.ts';
import { query } from '../support/database.ts';
import { SeededRandom } from '../support/dice.ts';
import { call, type Dundun, figuresOf, login, readValues } from '../support/process.ts';
import { until } from '../support/until.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const kills = isLong ? 50 : 5;
const rulesEach = isLong ? 250 : 20;
/** Whose the rules are in turn, so that nobody has more messages than are kept. */
const authors = isLong ? 10 : 2;
const sensors = ['s1', 's2', 's3', 's4'];
/** Of one kill: all together make no author more messages than are kept. */
const valuesMax = isLong ? 15 : 40;

/** How often the provider was told of each message, by id, and what. */
const told = new Map<string, { count: number; readonly text: string }>();
let provider: Server;

before(async () => {
  provider = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes) => {
      body += bytes;
    });
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const { message } = JSON.parse(body).data;
      const known = told.get(id) ?? { count: 0, text: message };
      assert.equal(known.text, message, 'an id stands for one message');
      known.count += 1;
      told.set(id, known);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
});
after(() => {
  provider.closeAllConnections();
  provider.close();
});

suite('a kill while rules fire', { timeout: isLong ? 3 * 3_600_000 : 1_800_000 }, () => {
  test(`neither loses nor repeats a firing, ${kills} times`, async (t) => {
    const random = new SeededRandom();
    t.diagnostic(`DUNDUN_TEST_SEED=${random.seed}`);
    const site = new CrashSite(random, { DUNDUN_WEBHOOK_NETWORKS: '127.0.0.1' });
    let dundun = await site.start();
    await prepare(dundun);
    let value = 0;
    for (let kill = 0; kill < kills; kill++) {
      const valueMax = value + valuesMax;
      const pushers = sensors.map(async (sensor) => {
        while (value < valueMax && (await push(dundun, sensor, ++value)));
      });
      await site.kill(dundun, { withinMs: 1500, withinSteps: 1000 });
      await Promise.all(pushers);
      await site.assertSound();
      dundun = await site.start();
    }
    t.diagnostic(site.describeCuts());
    const firings = await expected(dundun);
    await allSent(dundun);
    await dundun.stop();
    compare(site.folder, firings);
  });
});

async function prepare(dundun: Dundun): Promise<void> {
  const token = (await login(dundun)) as string;
  const must = async (path: string, json: unknown, method = 'POST') => {
    const answer = await call(dundun, `/api/v2${path}`, { token, json, method });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return answer;
  };
  const { id } = (await (await call(dundun, '/api/v2/users/me', { token })).json()) as { id: string };
  const address = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`;
  await must(`/users/${id}`, { webhook: [address] }, 'PUT');
  await must('/devices', { id: 'd', visibility: 'public', sensors: sensors.map((sensor) => ({ id: sensor })) });
  const tokens: string[] = [];
  for (let author = 0; author < authors; author++) {
    const account = { username: `author-${author}`, password: 'a long password' };
    await must('/users', account);
    tokens.push(await (await call(dundun, '/api/v2/auth/token', { json: account })).text());
  }
  for (const sensor of sensors) {
    for (let rule = 0; rule < rulesEach; rule++) {
      const condition = { devices: ['d'], sensors: [sensor], expression: `${sensor}>=0` };
      const message = `${rule} {id} {${sensor}}`;
      const json = { condition, action: { usernames: ['admin'], channels: ['webhook'], message } };
      const answer = await call(dundun, '/api/v2/notifications', { token: tokens[rule % authors] as string, json });
      assert.ok(answer.ok, await answer.text());
    }
  }
}

/** False where no answer came, because the server was killed: whether the value is stored is found out later. */
async function push(dundun: Dundun, sensor: string, value: number): Promise<boolean> {
  try {
    const answer = await call(dundun, `/api/v2/devices/d/sensors/${sensor}/values`, { json: { value } });
    await answer.arrayBuffer();
    return true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return false;
  }
}

/** What each rule must have said, of all that is stored. */
async function expected(dundun: Dundun): Promise<string[]> {
  const texts: string[] = [];
  for (const sensor of sensors) {
    for (const value of await readValues(dundun, 'd', sensor)) {
      for (let rule = 0; rule < rulesEach; rule++) texts.push(`${rule} ${sensor} ${value}`);
    }
  }
  assert.ok(texts.length > 0 && texts.length < limits.messagesPerUserMax * authors, `${texts.length} firings`);
  return texts.sort();
}

/** Waits until the watcher has come to the end and nothing is left in the outbox. */
async function allSent(dundun: Dundun): Promise<void> {
  const waiting = "SELECT count(*) AS n FROM message WHERE state <> 'sent'";
  const states = () => query(dundun.folder, 'SELECT state, reason, count(*) FROM message GROUP BY 1, 2');
  const isDone = async () => {
    // Asked first: what the watcher looks at later makes messages that are not there yet.
    const metrics = await figuresOf(dundun);
    return /^dundun_rules_datapoints_behind 0$/m.test(metrics) && query(dundun.folder, waiting)[0]?.['n'] === 0;
  };
  await until(isDone, { everyMs: 200, msMax: 600_000, otherwise: () => `Messages: ${JSON.stringify(states())}` });
}

function compare(folder: string, firings: readonly string[]): void {
  const messages = query(folder, 'SELECT id, text FROM message') as { id: string; text: string }[];
  assert.deepEqual(messages.map(({ text }) => text).sort(), firings, 'every firing is in the outbox exactly once');
  const [sum] = query(folder, 'SELECT sum(times_sent) AS n FROM notification');
  assert.equal(sum?.['n'], firings.length);
  for (const { id, text } of messages) assert.equal(told.get(id)?.text, text, 'the provider was told of each');
  assert.equal(told.size, messages.length, 'and of nothing else');
  const doubles = [...told.values()].reduce((total, { count }) => total + count - 1, 0);
  assert.ok(doubles <= kills * limits.sendingAtOnceMax, `${doubles} were told more often than once`);
}
