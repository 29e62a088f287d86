// Clients of MQTT over TLS that sign in by a certificate (decision 50): whose it is, what it may, and what it is not
// taken for; authorities and revocation lists that change; what a stranger can hold open.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, mock, suite, test } from 'node:test';
import { connect } from 'node:tls';
import { makeKeyOn } from '../../support/keys.ts';
import { connectOf, type Part, packet } from '../../support/mqtt/packet-bytes.ts';
import { addUsers, password } from '../../support/people.ts';
import { TestServer } from '../../support/test-server.ts';
import { Authority, type Pair } from '../../support/tls/authority.ts';
import { Certified } from '../../support/tls/certified.ts';
import { until } from '../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'dundun-test-'));
const pairs = join(import.meta.dirname, '../../support/tls');
const caFile = join(folder, 'ca.pem');
const crlFile = join(folder, 'crl.pem');

const authority = new Authority('fleet');
const foreign = new Authority('fleet');
const settings = {
  DUNDUN_TLS_CERT: join(pairs, 'cert.pem'),
  DUNDUN_TLS_KEY: join(pairs, 'key.pem'),
  DUNDUN_MQTT_TLS_PORT: '0',
  DUNDUN_MQTT_CLIENT_CA: caFile,
  DUNDUN_MQTT_CLIENT_CRL: crlFile,
};

let server: TestServer;

before(async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  writeFileSync(caFile, authority.cert);
  writeFileSync(crlFile, authority.revocationList([]));
  server = await TestServer.start(settings);
  await addUsers(server.folder, ['leaves'], server.clock);
  for (const [as, id] of [
    ['owner', 'd'],
    ['owner', 'other'],
    ['stranger', 'theirs'],
  ] as const) {
    await server.call(as, 'POST', '/devices', { json: { id, sensors: [{ id: 's' }] } });
  }
});
after(async () => {
  await server.stop();
  mock.timers.reset();
  rmSync(folder, { recursive: true, force: true });
});

async function codeOf(pair: Partial<Pair>, ...login: readonly Part[]): Promise<number | 'closed'> {
  const client = new Certified(server, pair);
  const code = await client.signIn('certified', ...login);
  await client.cut();
  return code;
}

const valuesOf = async (device: string, as = 'owner'): Promise<unknown[]> => {
  const { body } = await server.call(as, 'GET', `/devices/${device}/sensors/s/values`);
  return body.map(({ value }: { value: unknown }) => value);
};

/** Has the service read what is in the files now. */
const reload = () => server.running.reloadCertificate();

suite('who brings a certificate', () => {
  test('is the user of its common name, without a password', async () => {
    const client = new Certified(server, authority.issue('owner'));
    assert.equal(await client.signIn('mine'), 0);
    await client.publish('devices/d/sensors/s/value', 1);
    await client.publish('devices/theirs/sensors/s/value', 2);
    assert.deepEqual(await valuesOf('d'), [1]);
    assert.deepEqual(await valuesOf('theirs', 'stranger'), []);
    const { body } = await server.call('owner', 'GET', '/mqtt/clients');
    assert.deepEqual(
      body.map(({ id, owner }: Record<string, string>) => [id, owner]),
      [['mine', 'owner']],
    );
    await client.cut();
  });

  test('may name that user beside it, and nobody else; no password is looked at', async () => {
    const pair = authority.issue('owner');
    assert.equal(await codeOf(pair, 'owner'), 0);
    assert.equal(await codeOf(pair, 'owner', 'wrong'), 0);
    assert.equal(await codeOf(pair, '', 'whatever'), 0);
    for (const name of ['stranger', 'admin', 'guest', 'Owner', 'owner/']) {
      assert.equal(await codeOf(pair, name, password), 4, name);
    }
  });

  test('that names a key may no more than the key, and ends with it', async () => {
    const { id } = await makeKeyOn(server, 'owner', { name: 'tank/1', devices: ['d'] });
    const pair = authority.issue('owner/tank/1');
    const [keyed, whole] = [new Certified(server, pair), new Certified(server, authority.issue('owner'))];
    assert.equal(await keyed.signIn('keyed', 'owner'), 0);
    assert.equal(await whole.signIn('whole'), 0);
    const before = await valuesOf('other');
    await keyed.publish('devices/other/sensors/s/value', 'not by the key');
    await keyed.publish('devices/d/sensors/s/value', 'by the key');
    assert.deepEqual(await valuesOf('other'), before);
    assert.ok((await valuesOf('d')).includes('by the key'));
    assert.equal((await server.call('owner', 'DELETE', `/auth/keys/${id}`)).status, 204);
    await keyed.closed;
    assert.equal(await codeOf(pair), 5);
    await whole.publish('devices/d/sensors/s/value', 'still here');
    assert.ok((await valuesOf('d')).includes('still here'));
    await whole.cut();
  });

  test('that names a key of nobody, of somebody else, or one of two, is refused; one that has expired as well', async () => {
    await makeKeyOn(server, 'stranger', { name: 'theirs' });
    for (const _ of [1, 2]) await makeKeyOn(server, 'owner', { name: 'twice' });
    const expires = new Date(server.clock.now() + 60_000).toISOString();
    await makeKeyOn(server, 'owner', { name: 'short', expires });
    assert.equal(await codeOf(authority.issue('owner/short')), 0);
    server.clock.advance(120_000);
    for (const name of [
      'owner/theirs',
      'owner/twice',
      'owner/none',
      'owner/',
      'owner/short',
      'nobody/theirs',
      '/theirs',
    ]) {
      assert.equal(await codeOf(authority.issue(name)), 5, name);
    }
  });

  test('of an admin never acts as admin: by name, by a key with that scope, or by a will', async () => {
    await makeKeyOn(server, 'admin', { name: 'root', scopes: ['admin'] });
    for (const name of ['admin', 'admin/root']) {
      const client = new Certified(server, authority.issue(name));
      const will = ['devices/theirs/sensors/s/value', '{"value":"willed"}'];
      assert.equal(await client.connect(connectOf({ flags: 0x0e }, 'as-admin', ...will)), 0, name);
      await client.publish('devices/theirs/sensors/s/value', 'published');
      client.socket.write(packet(0x82, [0, 1], '$SYS/#', [0]));
      await until(() => client.hex.endsWith('9003000100'));
      // Looked up anew, as after a change.
      server.clock.advance(60_000);
      await client.publish('devices/theirs/sensors/s/value', 'published later');
      assert.ok(!client.hex.includes(Buffer.from('$SYS/').toString('hex')), 'nothing of what admins read');
      await client.cut();
      await server.running.idle();
      assert.deepEqual(await valuesOf('theirs', 'stranger'), [], name);
    }
  });

  test('of an admin leaves no will to a crash that acts as admin', async () => {
    const client = new Certified(server, authority.issue('admin'));
    const will = ['devices/theirs/sensors/s/value', '{"value":"willed"}'];
    assert.equal(await client.connect(connectOf({ flags: 0x0e }, 'crashes', ...will)), 0);
    const willCount = async () => ((await server.rows())['mqtt_will'] ?? []).length;
    assert.equal(await willCount(), 1);
    await server.crash();
    // It looks for wills of the run before now and then.
    mock.timers.tick(60_000);
    await until(async () => (await willCount()) === 0);
    assert.deepEqual(await valuesOf('theirs', 'stranger'), []);
    const { body: drops } = await server.call('stranger', 'GET', '/devices/theirs/drops');
    assert.equal(drops[0].username, 'admin', 'it was looked at, and dropped');
    await client.cut();
  });

  test('of a user who is removed is cut, and refused from then on', async () => {
    const pair = authority.issue('leaves');
    const client = new Certified(server, pair);
    assert.equal(await client.signIn('leaves'), 0);
    const { body } = await server.call('admin', 'GET', '/users?username=leaves');
    assert.equal((await server.call('admin', 'DELETE', `/users/${body[0].id}`)).status, 204);
    await client.closed;
    assert.equal(await codeOf(pair), 5);
  });

  const nobodies: Record<string, [name: string, more?: readonly string[]]> = {
    'an unknown name': ['nobody'],
    'the name of guests': ['guest'],
    'the name of guests and a key': ['guest/key'],
    'no name': [''],
    'a name in another case': ['Owner'],
    'two names': ['owner', ['stranger']],
    'a name with U+0000 behind it': ['owner\0'],
    'a name with U+0000 and a host': ['owner\0.example'],
    'a name with a line break': ['owner\nCN=admin'],
    'a name of 64 kB': ['x'.repeat(64_000)],
    'a user and a key of 64 kB': [`owner/${'x'.repeat(64_000)}`],
    'a name of every object': ['__proto__'],
  };
  for (const [what, [name, more = []]] of Object.entries(nobodies)) {
    test(`of ${what} is nobody: CONNACK 5, whatever login is beside it`, async () => {
      const pair = authority.issue(name, { more });
      assert.equal(await codeOf(pair), 5);
      assert.notEqual(await codeOf(pair, 'owner', password), 0);
    });
  }
});

suite('a certificate', () => {
  const bad: Record<string, () => Partial<Pair>> = {
    'of another authority of the same name': () => foreign.issue('owner'),
    'that has expired': () => authority.issue('owner', { endsInMs: -60_000 }),
    'that is signed by itself': () => new Authority('owner').own,
  };
  for (const [what, make] of Object.entries(bad)) {
    test(`${what} closes the connection, also with a good password, in both versions of TLS`, async () => {
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        const client = new Certified(server, make(), { maxVersion });
        assert.equal(await client.signIn('bad', 'owner', password), 'closed', maxVersion);
      }
    });
  }

  test('is asked for and not needed: password, key and guest come in as before', async () => {
    const { key } = await makeKeyOn(server, 'owner', { name: 'by password' });
    assert.equal(await codeOf({}, 'owner', password), 0);
    assert.equal(await codeOf({}, '', key), 0);
    assert.equal(await codeOf({}), 0);
    assert.equal(await codeOf({}, 'owner', 'wrong'), 4);
  });

  test('is needed where the setting says so', async () => {
    await server.restart({ DUNDUN_MQTT_CLIENT_CERT: 'required' });
    assert.equal(await codeOf({}, 'owner', password), 'closed');
    assert.equal(await codeOf(authority.issue('owner')), 0);
    await server.restart({ DUNDUN_MQTT_CLIENT_CERT: 'optional' });
  });

  test('lets nobody in after it has expired, though the connection is open', async () => {
    // The clock of tests is that of the service; TLS goes by the machine's.
    const pair = authority.issue('owner', { endsInMs: 3_600_000 });
    const client = new Certified(server, pair);
    assert.equal(await client.signIn('expires'), 0);
    const forward = Date.now() + 3_700_000 - server.clock.now();
    if (forward > 0) server.clock.advance(forward);
    client.socket.write(packet(0x32, 'devices/d/sensors/s/value', [0, 9], Buffer.from('{"value":"too late"}')));
    await client.closed;
    await server.running.idle();
    assert.ok(!(await valuesOf('d')).includes('too late'));
  });

  test('is not asked for by HTTPS', async () => {
    const { http } = server.running.ports;
    const socket = connect({ port: http, host: '127.0.0.1', rejectUnauthorized: false, ...foreign.issue('owner') });
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    socket.destroy();
  });
});

suite('what certificates are judged by', () => {
  test('is read anew: who is revoked is cut and refused, others come back, and passwords are not concerned', async () => {
    const [gone, stays] = [authority.issue('owner'), authority.issue('stranger')];
    const [first, second, byPassword] = [
      new Certified(server, gone),
      new Certified(server, stays),
      new Certified(server, {}),
    ];
    assert.equal(await first.signIn('gone'), 0);
    assert.equal(await second.signIn('stays'), 0);
    assert.equal(await byPassword.signIn('by-password', 'owner', password), 0);
    writeFileSync(crlFile, authority.revocationList([gone.serial]));
    await reload();
    await Promise.all([first.closed, second.closed]);
    assert.equal(await codeOf(gone), 'closed');
    assert.equal(await codeOf(gone, 'owner', password), 'closed');
    assert.equal(await codeOf(stays), 0);
    await byPassword.publish('devices/d/sensors/s/value', 'by password');
    assert.ok((await valuesOf('d')).includes('by password'));
    await byPassword.cut();
  });

  test('a session of TLS from before does not bring a revoked certificate in', async () => {
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const pair = authority.issue('owner');
      const first = new Certified(server, pair, { maxVersion });
      let session: Buffer | undefined;
      first.socket.on('session', (bytes) => {
        session = bytes;
      });
      assert.equal(await first.signIn('resumes'), 0);
      session ??= first.socket.getSession();
      const again = new Certified(server, pair, { maxVersion, ...(session === undefined ? {} : { session }) });
      assert.equal(await again.signIn('resumes-2'), 0);
      assert.equal(again.socket.isSessionReused(), false, maxVersion);
      await Promise.all([first.cut(), again.cut()]);
    }
  });

  test('where nothing in it changed, nobody is cut', async () => {
    const client = new Certified(server, authority.issue('owner'));
    assert.equal(await client.signIn('quiet'), 0);
    await reload();
    await client.publish('devices/d/sensors/s/value', 'not cut');
    assert.ok((await valuesOf('d')).includes('not cut'));
    await client.cut();
  });

  test('half a file is not used: all that was before stays', async () => {
    const pair = authority.issue('owner');
    for (const file of [caFile, crlFile]) {
      const whole = file === caFile ? authority.cert : authority.revocationList([]);
      for (const text of ['', 'rubbish', whole.slice(0, 200), whole.replace(/[A-Z]{3}/g, 'AAA')]) {
        writeFileSync(file, text);
        await reload();
        assert.equal(await codeOf(pair), 0, text.slice(0, 40));
        assert.equal(server.errors.splice(0).length, 1);
      }
      writeFileSync(file, whole);
      await reload();
    }
  });

  test('a revocation list past its date lets nobody in by a certificate, and passwords do', async () => {
    writeFileSync(crlFile, authority.revocationList([], { endsInMs: -60_000 }));
    await reload();
    assert.equal(await codeOf(authority.issue('owner')), 'closed');
    assert.equal(await codeOf({}, 'owner', password), 0);
    writeFileSync(crlFile, authority.revocationList([]));
    await reload();
  });

  test('a new authority beside the one before, and then in its place', async () => {
    const next = new Authority('next fleet');
    const [old, young] = [authority.issue('owner'), next.issue('owner')];
    writeFileSync(caFile, authority.cert + next.cert);
    writeFileSync(crlFile, authority.revocationList([]) + next.revocationList([]));
    await reload();
    assert.equal(await codeOf(old), 0);
    assert.equal(await codeOf(young), 0);
    writeFileSync(caFile, next.cert);
    writeFileSync(crlFile, next.revocationList([]));
    await reload();
    assert.equal(await codeOf(old), 'closed');
    assert.equal(await codeOf(young), 0);
    writeFileSync(caFile, authority.cert);
    writeFileSync(crlFile, authority.revocationList([]));
    await reload();
  });
});
