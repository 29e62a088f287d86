// Everything a user has, as one archive (contract 2, decision 41): what is in it, what never is, and how it ends.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { after, before, beforeEach, suite, test } from 'node:test';
import { limits } from '../../../src/config/limits.ts';
import { make, makeAll } from '../../support/api/calls.ts';
import { addRule, rule } from '../../support/api/example-rule.ts';
import { filesOf, findFiles } from '../../support/archive.ts';
import { setLimits } from '../../support/limits.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { until } from '../../support/until.ts';

const path = '/api/v2/users/me/export';
const call = 'GET /users/me/export';
let server: TestServer;
let users = 0;
/** A user of whom nothing else is there. */
let self = '';
before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());
beforeEach(async () => {
  users += 1;
  self = `self-${users}`;
  await addUsers(server.folder, [self], server.clock);
});

async function exported(as: string): Promise<Map<string, string>> {
  const answer = await make(server, { as, call, expect: 200 });
  assert.equal(answer.headers['content-type'], 'application/zip');
  assert.match(
    answer.headers['content-disposition'] ?? '',
    /^attachment; filename="dundun-[\w.-]+-\d{4}-\d\d-\d\d\.zip"$/,
  );
  assert.equal(answer.headers['cache-control'], 'no-store');
  return filesOf(answer.bytes);
}

// biome-ignore lint/suspicious/noExplicitAny: records of the API
const recordsOf = (files: ReadonlyMap<string, string>, name: string): any =>
  JSON.parse(files.get(`${name}.json`) ?? '');

async function addDevice(as: string, id: string, more: object = {}): Promise<void> {
  await make(server, {
    as,
    call: 'POST /devices',
    json: { id, sensors: [{ id: 'T' }, { id: 'U' }], ...more },
    expect: 204,
  });
}

async function push(as: string, device: string, sensor: string, json: unknown): Promise<void> {
  const pushed = await server.call(as, 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
  assert.equal(pushed.status, 204, pushed.text);
}

/** An answer whose body is read when its reader likes. */
async function open(as: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${await server.token(as)}` };
  const [response] = (await once(get(`${server.url}${path}`, { headers, agent: false }), 'response')) as [
    IncomingMessage,
  ];
  return response;
}

/** What comes of an answer until it ends or breaks. */
async function readOn(response: IncomingMessage): Promise<{ readonly bytes: Buffer; readonly isBroken: boolean }> {
  const pieces: Buffer[] = [];
  let isBroken = false;
  try {
    for await (const piece of response) pieces.push(piece as Buffer);
  } catch {
    isBroken = true;
  }
  return { bytes: Buffer.concat(pieces), isBroken };
}

/** A device with so much that no buffer between server and reader takes it: 9 MB in the archive, twice what the system keeps. */
async function addLongDevice(as: string, id: string): Promise<void> {
  await addDevice(as, id);
  for (let rounds = 0; rounds < 20; rounds++) {
    const values = Array.from({ length: 10 }, () => ({ value: randomBytes(45_000).toString('base64') }));
    await push(as, id, 'T', values);
  }
}

suite('everything one has', () => {
  test('is given to oneself, signed in with a password, and to nobody else', async () => {
    const { body: key } = await server.call('owner', 'POST', '/auth/keys', { json: { name: 'whole' } });
    await makeAll(server, [
      { as: 'guest', call, expect: 403 },
      ...['stranger', 'sharer', 'owner', 'admin'].map((as) => ({ as, call, expect: 200 })),
      { as: 'owner', call: 'HEAD /users/me/export', expect: 200 },
    ]);
    for (const [token, status] of [[key.key, 403], ['over', 401]] as const) // biome-ignore format: one line
      assert.equal((await server.send('GET', path, { headers: { authorization: `Bearer ${token}` } })).status, status);
    const { body: me } = await server.call('owner', 'GET', '/users/me');
    await makeAll(server, [
      { as: 'admin', call: `GET /users/${me.id}/export`, expect: 404 },
      { as: 'owner', call: `GET /users/${me.id}/export`, expect: 404 },
    ]);
    for (const username of ['stranger', 'admin'])
      assert.equal(recordsOf(await exported(username), 'profile').username, username);
  });

  test('has every row of one’s devices, as it was stored', async () => {
    const point = (real_value: number, sensor_value: number) => ({ real_value, sensor_value });
    const calib = { linear: { enabled: true, value_min: point(0, 0), value_max: point(10, 1) } };
    await addDevice(self, `${self}-a`, { sensors: [{ id: 'T', calib }, { id: 'U' }] });
    await addDevice(self, `@${self}`);
    await addDevice(self, `${self}-silent`);
    const startMs = Date.parse('2026-01-01T00:00:00Z');
    const others = ['=HYPERLINK("x")', '', 'a,"b"\r\nc', null, true, { a: [1, 'é'] }, '17'];
    const values = ['1.5', '-0.25', '9007199254740993', ...others.map((value) => JSON.stringify(value))];
    const rows = Array.from({ length: 2_500 }, (_, index) => ({
      value: values[index % values.length] ?? '',
      timestamp: new Date(startMs + index * 1_000).toISOString(),
    }));
    const text = ({ value, timestamp }: (typeof rows)[number]) => `{"value":${value},"timestamp":"${timestamp}"}`;
    for (const [device, sensor, from, to] of [
      [`${self}-a`, 'T', 0, 1_000],
      [`${self}-a`, 'U', 1_000, 2_000],
      [`@${self}`, 'T', 2_000, 2_500],
    ] as const) {
      // biome-ignore format: one line
      const body = `[${rows.slice(from, to).map(text).join(',')}]`;
      const pushed = await server.call(self, 'POST', `/devices/${encodeURIComponent(device)}/sensors/${sensor}/values`, { body, headers: { 'content-type': 'application/json' } }); // biome-ignore format: one line
      assert.equal(pushed.status, 204, pushed.text);
      if (sensor === 'T') await server.running.engine.seal();
    }
    const files = await exported(self);
    const names = [...files.keys()].filter((name) => name.startsWith('datapoints/'));
    assert.deepEqual(names, [`datapoints/0001-${self}-a.csv`, `datapoints/0002-_${self}.csv`]);
    const expected = (device: string, sensor: string, from: number, to: number) =>
      rows.slice(from, to).map(({ value, timestamp }) => {
        const quoted = /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
        return `${device},${sensor},${timestamp.replace('.000Z', 'Z')},R,${quoted}`;
      });
    const linesOf = (name: string | undefined) => (files.get(name ?? '') ?? '').trimEnd().split('\r\n').map((line) => line.replace(/^([^,]+,[^,]+,[^,]+),[^,]+,/, '$1,R,')); // biome-ignore format: one line
    const header = 'device_id,sensor_id,timestamp,R,value';
    assert.deepEqual(linesOf(names[0]), [header, ...expected(`${self}-a`, 'T', 0, 1_000), ...expected(`${self}-a`, 'U', 1_000, 2_000)]); // biome-ignore format: one line
    assert.deepEqual(linesOf(names[1]), [header, ...expected(`'@${self}`, 'T', 2_000, 2_500)]);
    assert.deepEqual(recordsOf(files, 'devices').map(({ id }: { id: string }) => id), [`${self}-a`, `@${self}`, `${self}-silent`]); // biome-ignore format: one line
    assert.deepEqual(recordsOf(files, 'devices')[0].sensors[0].calib, calib);
    assert.equal(files.has('problems.txt'), false);
  });

  test('has each list of one’s own, nothing of others and no secret', async () => {
    const theirs = `theirs-${users}`;
    await addUsers(server.folder, [theirs], server.clock);
    const make204 = (as: string, what: string, json?: unknown) => make(server, { as, call: what, ...(json === undefined ? {} : { json }), expect: 204 }); // biome-ignore format: one line
    for (const [as, other] of [
      [self, theirs],
      [theirs, self],
    ] as const) {
      // biome-ignore format: one line
      await addDevice(as, `d-${as}`, { visibility: 'public', actuators: [{ id: 'valve' }] });
      await push(as, `d-${as}`, 'T', { value: `value-of-${as}` });
      await make204(as, `PUT /devices/d-${as}/actuators/valve/value`, `open-${as}`);
      await server.call(as, 'POST', '/gateways', { json: { id: `g-${as}`, visibility: 'public' } });
      await server.call(as, 'POST', '/projects', { json: { id: `p-${as}`, name: `p-${as}`, device_ids: [`d-${as}`] } });
      await make204(as, `PUT /devices/d-${as}/shares/${other}`, { scopes: ['device:view', 'device-data:view'] });
      await make204(as, `PUT /gateways/g-${as}/shares/${other}`, { scopes: ['gateway:view'] });
      await server.call(as, 'POST', '/socials', { json: { username: as, channel: 'none', message: `note-of-${as}` } });
      const condition = { devices: [`d-${as}`], sensors: ['T'], expression: 'T > 1' };
      await addRule(server, as, { ...rule, condition, description: `rule-of-${as}` });
      await push(as, `d-${as}`, 'T', { value: 2 });
      await server.running.idle();
      const [alarm] = (await server.call(as, 'GET', `/alarms?device=d-${as}`)).body;
      await make204(as, `PUT /alarms/${alarm.id}/acknowledgement`, { note: `seen-by-${as}` });
    }
    // One of them is about a device of somebody else, and its author's all the same.
    const condition = { devices: [`d-${theirs}`], sensors: ['T'], expression: 'T > 1.5' };
    await addRule(server, self, { ...rule, condition, description: `abroad-of-${self}` });
    await push(theirs, `d-${theirs}`, 'T', { value: 3 });
    await server.running.idle();
    const { body: key } = await server.call(self, 'POST', '/auth/keys', { json: { name: 'key-of-self' } });
    const { body: me } = await server.call(self, 'GET', '/users/me');
    await make204(self, `PUT /users/${me.id}`, { webhook: ['https://hook.example/'], firstName: 'Ada' });
    const { webhook_key } = (await server.call(self, 'GET', '/users/me')).body;
    assert.ok(webhook_key.length > 10);
    const session = await server.send('POST', '/api/v2/auth/session', { json: { username: self, password } });
    const cookie = /dundun_renewal=([^;]+)/.exec(String(session.headers['set-cookie']))?.[1] ?? '';
    assert.ok(cookie.length > 10);

    const files = await exported(self);
    const ids = (name: string, field = 'id') =>
      recordsOf(files, name).map((record: Record<string, unknown>) => record[field]);
    assert.deepEqual(ids('devices'), [`d-${self}`]);
    assert.deepEqual(ids('gateways'), [`g-${self}`]);
    assert.deepEqual(ids('projects'), [`p-${self}`]);
    assert.deepEqual(ids('rules', 'description').sort(), [`abroad-of-${self}`, `rule-of-${self}`]);
    assert.deepEqual(ids('alarms', 'notification_description'), [`abroad-of-${self}`, `rule-of-${self}`]);
    assert.deepEqual(ids('alarms', 'acknowledged')[1].note, `seen-by-${self}`);
    assert.ok(ids('messages', 'message').includes(`note-of-${self}`));
    assert.deepEqual(ids('keys', 'name'), ['key-of-self']);
    assert.deepEqual(ids('settings', 'value'), [`open-${self}`]);
    assert.deepEqual(ids('settings', 'actuator_id'), ['valve']);
    assert.deepEqual(ids('shares-by-me', 'username'), [theirs, theirs]);
    assert.deepEqual(ids('shares-with-me', 'owner'), [theirs, theirs]);
    assert.equal(ids('sessions').length, 1);
    assert.equal(recordsOf(files, 'profile').firstName, 'Ada');
    assert.equal(recordsOf(files, 'quotas')[0].devices.used, 1);
    assert.match(
      [...files].find(([name]) => name.startsWith('datapoints/'))?.[1] ?? '',
      new RegExp(`value-of-${self}`),
    );
    const whole = [...files.values()].join('\n');
    const secrets = [key.key, webhook_key, cookie, session.text, password, '$argon2'];
    const ofOthers = [
      `seen-by-${theirs}`,
      `value-of-${theirs}`,
      `open-${theirs}`,
      `p-${theirs}`,
      `note-of-${theirs}`,
      `rule-of-${theirs}`,
    ];
    for (const secret of [...secrets, ...ofOthers]) assert.ok(!whole.includes(secret), secret);
  });

  test('of an admin is what is theirs, not what they may see', async () => {
    await addDevice('owner', `seen-${users}`);
    const json = { username: 'owner', channel: 'none', message: 'not of the admin' };
    await make(server, { as: 'owner', call: 'POST /socials', json, expect: 200 });
    const condition = { devices: [`seen-${users}`], sensors: ['T'], expression: 'T > 1' };
    await addRule(server, 'owner', { ...rule, condition });
    const files = await exported('admin');
    for (const name of [
      'devices',
      'gateways',
      'projects',
      'rules',
      'alarms',
      'messages',
      'shares-by-me',
      'settings',
      'drops',
    ])
      assert.deepEqual(recordsOf(files, name), [], name);
    assert.equal(recordsOf(files, 'profile').admin, true);
  });

  test('is whole whatever the name of its owner', async () => {
    const name = `Ünï;=,% 太鼓 ${users}`;
    await addUsers(server.folder, [name], server.clock);
    await server.call(name, 'POST', '/devices', { json: { id: `odd-${users}`, sensors: [{ id: 'T' }] } });
    assert.equal(recordsOf(await exported(name), 'devices').length, 1);
  });

  suite('that is much', () => {
    setLimits({ archiveFileRows: 1_000, archiveDeviceFilesMax: 2 });

    test('goes on in files with a number, and devices beyond a bound share files', async () => {
      for (const [index, count] of [10_000, 1, 2, 3].entries()) {
        await addDevice(self, `${self}-${index}`);
        await push(
          self,
          `${self}-${index}`,
          'T',
          Array.from({ length: count }, (_, value) => ({ value })),
        );
      }
      const files = await exported(self);
      const rows = (name: string) => (files.get(name)?.trimEnd().split('\r\n').length ?? 1) - 1;
      const parts = [...files.keys()].filter((name) => name.startsWith(`datapoints/0001-${self}-0`));
      assert.ok(parts.length > 1 && parts[1] === `datapoints/0001-${self}-0-2.csv`, parts.join());
      assert.equal(parts.reduce((sum, name) => sum + rows(name), 0), 10_000); // biome-ignore format: one line
      assert.equal(rows(`datapoints/0002-${self}-1.csv`), 1);
      assert.equal(rows('datapoints/others.csv'), 5);
    });
  });
});

suite('an archive under way', () => {
  test('is one at a time for a user; others and the next one get theirs', async () => {
    await addLongDevice(self, `${self}-long`);
    const first = await open(self);
    assert.equal(first.statusCode, 200);
    await makeAll(server, [
      { as: self, call, expect: 429 },
      { as: self, call: 'HEAD /users/me/export', expect: 200 },
      { as: 'stranger', call, expect: 200 },
    ]);
    first.destroy();
    await until(async () => (await server.call(self, 'GET', '/users/me/export')).status === 200);
  });

  test('goes on without a device that is removed meanwhile', async () => {
    await addLongDevice(self, `${self}-long`);
    await addDevice(self, `${self}-removed`);
    await push(self, `${self}-removed`, 'T', { value: 4711 });
    await addDevice(self, `${self}-kept`);
    await push(self, `${self}-kept`, 'T', { value: 4712 });
    const response = await open(self);
    await make(server, { as: self, call: `DELETE /devices/${self}-removed`, expect: 204 });
    const { bytes, isBroken } = await readOn(response);
    assert.equal(isBroken, false);
    const files = filesOf(bytes);
    assert.match([...files].find(([name]) => name.endsWith('-kept.csv'))?.[1] ?? '', /,4712\r\n$/);
    assert.equal([...files.keys()].some((name) => name.endsWith('-removed.csv')), false); // biome-ignore format: one line
  });

  for (const [what, end] of [
    ['password', async (id: string) => make(server, { as: self, call: `PUT /users/${id}/password`, json: { current: password, password: 'another drum' }, expect: 204 })],
    ['account', async (id: string) => make(server, { as: self, call: `POST /users/${id}/removal`, json: { current: password, devices: 'delete' }, expect: 204 })],
  ] as const) // biome-ignore format: one line
    test(`breaks, and is recognised as broken, when the ${what} of its owner goes`, async () => {
      await addLongDevice(self, `${self}-long`);
      const { body: me } = await server.call(self, 'GET', '/users/me');
      const response = await open(self);
      await end(me.id);
      const { bytes, isBroken } = await readOn(response);
      assert.equal(isBroken, true);
      assert.equal(findFiles(bytes), undefined);
    });

  test('is cut where its reader takes nothing', async () => {
    await addLongDevice(self, `${self}-long`);
    const { streamStallMs } = limits;
    Object.assign(limits, { streamStallMs: 200 });
    try {
      const response = await open(self);
      await until(
        async () => (await server.call(self, 'GET', '/users/me/export').catch(() => undefined))?.status === 200,
      );
      const { bytes, isBroken } = await readOn(response);
      assert.equal(isBroken, true);
      assert.equal(findFiles(bytes), undefined);
    } finally {
      Object.assign(limits, { streamStallMs });
    }
  });
});
