// Contract 9 as a property: random calls through version 1 on one server and their equivalents through version 2 on
// another leave the same rows, domains aside, and return the same data under other names. older-words.ts and
// twin-calls.ts have their own word map, so that a fault in the map of the service is found.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { inOlderWords, withoutDomain } from '../support/api/older-words.ts';
import { calls, deviceIds, type Twin } from '../support/api/twin-calls.ts';
import { properties } from '../support/properties.ts';
import type { Rows } from '../support/rows.ts';
import { type Answer, TestServer } from '../support/test-server.ts';

type Json = Record<string, unknown>;

let older: TestServer;
let newer: TestServer;
/** The ids of the notifications that both made, in order. */
let rules: { readonly older: string; readonly newer: string }[] = [];

before(async () => {
  [older, newer] = await Promise.all([TestServer.start(), TestServer.start()]);
});
after(async () => {
  await Promise.all([older.stop(), newer.stop()]);
});

test('a call of version 1 and its twin in version 2 leave the same rows and give the same data', async () => {
  await fc.assert(fc.asyncProperty(calls, runBoth), properties({ factor: 1 / 3 }));
});

test('a notification made by either version fires alike', async () => {
  const same = (json: unknown) => ({ older: { json }, newer: { json } });
  const owner = { as: 'owner', method: 'POST' };
  const message = { usernames: ['owner'], channels: ['none'], message: '{id} is at {x}' };
  const expression = 'x>1';
  await runBoth([
    { ...owner, older: '/sensors', newer: '/devices', answers: 'device', carries: same({ id: 'a' }) },
    { ...owner, older: '/sensors/a/measurements', newer: '/devices/a/sensors', carries: same({ id: 'x' }) },
    {
      ...{ ...owner, older: '/notifications', newer: '/notifications', answers: 'rule' },
      carries: {
        older: { json: { condition: { sensors: ['a'], measurements: ['x'], expression }, notification: message } },
        newer: { json: { condition: { devices: ['a'], sensors: ['x'], expression }, action: message } },
      },
    },
    {
      ...{ ...owner, older: '/sensors/a/measurements/x/value', newer: '/devices/a/sensors/x/value' },
      carries: same({ value: 5 }),
    },
    { as: 'owner', method: 'GET', older: '/notifications/{0}', newer: '/notifications/{0}', answers: 'rule' },
  ]);
  const [one, other] = await Promise.all([older.rows(), newer.rows()]);
  const texts = ({ message: sent = [] }: Rows) => (sent as Json[]).map((row) => row['text']).at(-1);
  assert.deepEqual([texts(one), texts(other)], ['x is at 5', 'x is at 5']);
});

/** Makes the calls through both versions, then compares all rows. */
async function runBoth(twins: readonly Twin[]): Promise<void> {
  try {
    for (const twin of twins) await callBoth(twin);
    const [one, other] = await Promise.all([older.rows(), newer.rows()]);
    assert.deepEqual(comparable(one, 'older'), comparable(other, 'newer'));
  } finally {
    await Promise.all([clear(older, 'older'), clear(newer, 'newer')]);
    rules = [];
  }
}

async function callBoth(twin: Twin): Promise<void> {
  // What a value sets off (a rule that fires) is done before the next call.
  await Promise.all([older.running.idle(), newer.running.idle()]);
  older.clock.advance(1000);
  newer.clock.advance(1000);
  const { as: who, method, carries } = twin;
  const prefix = twin.isSetUp ? '/api/v2' : '/api/v1';
  const [one, other] = await Promise.all([
    older.request(who, method, prefix + withIds(twin.older, 'older'), carries?.older),
    newer.request(who, method, `/api/v2${withIds(twin.newer, 'newer')}`, carries?.newer),
  ]);
  const what = `${who}: ${method} ${twin.older} ${JSON.stringify(carries?.older)}: ${one.text} and ${other.text}`;
  if (twin.isSetUp) assert.equal(one.status, other.status, what);
  else compareAnswers(twin, one, other, what);
}

function compareAnswers({ method, answers }: Twin, one: Answer, other: Answer, what: string): void {
  if (other.status >= 400) {
    assert.equal(one.status, other.status, what);
    if (method === 'HEAD') return;
    assert.equal(one.body.error, other.body.title, what);
    assert.doesNotMatch(
      one.body.description.replaceAll(/"[^"]*"/g, ''),
      /\bdevice\b|^\/(condition\/devices|action)\b/,
      what,
    );
    return;
  }
  assert.equal(one.status, 200, what);
  noteRule(one, other);
  for (const name of ['x-total-count', 'content-type', 'preference-applied', 'cache-control']) {
    assert.equal(one.headers[name], other.headers[name], `${what}: ${name}`);
  }
  assert.equal(relationsOf(one), relationsOf(other), what);
  const location = String(other.headers.location ?? '');
  const steps = location.replace(/^\/api\/v2\/devices\/([^/]+)(\/sensors)?/, (_, id, has) =>
    has === undefined ? `/api/v1/sensors/${id}` : `/api/v1/sensors/${id}/measurements`,
  );
  const expected = steps.replace('/api/v2', '/api/v1').replace(rules.at(-1)?.newer ?? '-', rules.at(-1)?.older ?? '-');
  assert.equal(one.headers.location ?? '', expected, what);
  if (other.body === undefined) {
    if (answers !== 'rule') assert.equal(one.text, other.text, what);
    return;
  }
  assert.deepEqual(withoutDomain(one.body), withoutDomain(inOlderWords(other.body, answers, olderId)), what);
}

const olderId = (newerId: unknown) => rules.find(({ newer: id }) => id === newerId)?.older ?? newerId;

/** Remembers the ids that both gave a notification just now. */
function noteRule(one: Answer, other: Answer): void {
  const id = ({ headers }: Answer) => /\/notifications\/(\w+)$/.exec(headers.location ?? '')?.[1];
  const ids = { older: id(one), newer: id(other) };
  if (ids.older !== undefined && ids.newer !== undefined) rules.push(ids as never);
}

function withIds(path: string, side: 'older' | 'newer'): string {
  return path.replace(/\{(\d)\}/, (_, index: string) => rules[Number(index)]?.[side] ?? '0123456789abcdef01234567');
}

function relationsOf({ headers }: Answer): string {
  return [...String(headers.link ?? '').matchAll(/[?&](limit=\d+&offset=\d+)>; (rel="\w+")/g)].flat().join();
}

/** All rows; without what each service made up for itself, and without the domain where version 1 set it. */
function comparable(rows: Rows, side: 'older' | 'newer'): unknown {
  const {
    user,
    secret: _,
    device: devices = [],
    notification = [],
    message = [],
    receipt = [],
    actuator_setting = [],
    alarm = [],
    ...rest
  } = rows;
  const order = rules.map((rule) => rule[side]);
  const names = new Map((user as Json[]).map((row) => [row['id'] as string, row['username'] as string]));
  return {
    ...rest,
    user: [...names.values()],
    // The caller is a user by its id, which is the beginning of the receipt's own, by which they are in order.
    receipt: (receipt as Json[])
      .map(({ caller, id, ...row }) =>
        JSON.stringify([names.get(caller as string), withoutPath((id as string).replace(caller as string, '')), row]),
      )
      .sort(),
    message: (message as Json[]).map(({ id, ...row }) => row),
    actuator_setting: (actuator_setting as Json[]).map(({ id, ...row }) => row),
    alarm: (alarm as Json[]).map(({ id, ...row }) => row),
    device: (devices as Json[]).map((row) => ({ ...row, domain: row['domain'] === 'default' ? null : row['domain'] })),
    notification: (notification as Json[]).map((row) => ({ ...row, id: order.indexOf(row['id'] as string) })),
  };
}

/** The id of an array that is remembered names its path, which is the version's own. */
const withoutPath = (id: string) => id.replace(/POST \/api\/\S+/, 'POST');

/** Removes what a run made, by the door it was made by. */
async function clear(server: TestServer, side: 'older' | 'newer'): Promise<void> {
  const [prefix, devices] = side === 'older' ? ['/api/v1', '/sensors'] : ['/api/v2', '/devices'];
  for (const id of deviceIds) await server.request('admin', 'DELETE', `${prefix}${devices}/${id}`);
  for (const rule of rules) await server.request('admin', 'DELETE', `${prefix}/notifications/${rule[side]}`);
}
