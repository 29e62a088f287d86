// Settings as an operator meets them: all faults reported at once, the file named by DUNDUN_CONFIG, `dundun config`,
// and no secret in any output of the process.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { settings as known } from '../../src/config/config.ts';
import { connectOnce } from '../support/mqtt/mqtt-connection.ts';
import {
  adminPassword,
  call,
  Dundun,
  login,
  makeDevice,
  makeFolder,
  runVerb,
  startDundun,
} from '../support/process.ts';

const faulty = {
  DUNDUN_HTTP_PORT: '70000',
  DUNDUN_MQTT_PORT: 'mqtt',
  DUNDUN_MQTT_TLS_PORT: '-1',
  DUNDUN_BASE_URL: 'not an address',
  DUNDUN_TLS_CERT: '/etc/cert.pem',
  DUNDUN_ADMIN_PASSWORD: 'short',
  DUNDUN_GUEST_ACCESS: 'some',
  DUNDUN_DEFAULT_VISIBILITY: 'hidden',
  DUNDUN_TRUST_PROXY: '10.0.0.0/8, my-proxy',
  DUNDUN_MQTT_PROXY_PROTOCOL: 'v2',
  DUNDUN_HSTS: '0',
  DUNDUN_DOCS_ACCESS: 'closed',
  DUNDUN_METRICS_PORT: 'nine',
  DUNDUN_LOG_LEVEL: 'loud',
  DUNDUN_DATA_MAX_BYTES: '20 potatoes',
  DUNDUN_MEMORY_MAX: '128MB',
  DUNDUN_RETENTION_DAYS: '0',
  DUNDUN_TWILIO_ACCOUNT_SID: 'my account',
  DUNDUN_TWILIO_API_KEY: 'AC0',
  DUNDUN_TWILIO_VOICE_FROM: '0771234567',
  DUNDUN_TWILIO_VOICE_LANGUAGE: 'french!',
  DUNDUN_TWILIO_URL: 'twilio',
  DUNDUN_SMTP_URL: 'https://awa:letmein@mail.example',
  DUNDUN_SMTP_FROM: 'awa',
  DUNDUN_TELEGRAM_TOKEN: 'letmein',
  DUNDUN_WEBHOOK_NETWORKS: '192.168.1.0/40',
};

suite('settings', { timeout: 1_800_000 }, () => {
  test('every fault is named at once, with what would be right, and exit code 2', async () => {
    const folder = join(makeFolder(), 'data');
    for (const verb of [['serve'], ['config'], ['user', 'list']]) {
      const { code, stdout, stderr } = await runVerb(verb, { settings: { ...faulty, DUNDUN_DATA_DIR: folder } });
      assert.equal(code, 2);
      assert.equal(stdout, '');
      for (const name of [...Object.keys(faulty), 'DUNDUN_TLS_KEY'])
        assert.match(stderr, new RegExp(`^ +.*${name}`, 'm'));
      assert.match(stderr, /DUNDUN_HTTP_PORT: "70000" must be a whole number from 0 to 65535/);
      assert.match(stderr, /DUNDUN_DEFAULT_VISIBILITY: "hidden" must be one of private, public/);
      assert.match(stderr, /DUNDUN_DATA_MAX_BYTES: "20 potatoes" must be a size such as 500MB or 20GB/);
      assert.match(stderr, /DUNDUN_MEMORY_MAX: "128MB" must be a size such as 500MB or 20GB, 256MB or more/);
      assert.match(stderr, /DUNDUN_TRUST_PROXY: .*my-proxy/);
      assert.doesNotMatch(stderr, /short|letmein|at \S+\.ts/);
    }
    assert.equal(existsSync(folder), false);
  });

  test('ports that must differ are named', async () => {
    const settings = { DUNDUN_HTTP_PORT: '8080', DUNDUN_MQTT_PORT: '8080' };
    const { code, stderr } = await runVerb(['config'], { settings });
    assert.equal(code, 2);
    assert.match(stderr, /DUNDUN_HTTP_PORT, DUNDUN_MQTT_PORT and DUNDUN_METRICS_PORT: must differ/);
  });

  test('a provider that is set up by halves is named, with what belongs together', async () => {
    const settings = {
      ...{
        DUNDUN_TWILIO_TOKEN: 'letmein',
        DUNDUN_X_APP_KEY: 'app',
        DUNDUN_SMTP_URL: 'smtp://awa:letmein@mail.example',
      },
    };
    const { code, stderr } = await runVerb(['config'], { settings });
    assert.equal(code, 2);
    assert.match(stderr, /DUNDUN_TWILIO_ACCOUNT_SID, DUNDUN_TWILIO_TOKEN, DUNDUN_TWILIO_FROM: set all, or none/);
    assert.match(stderr, /DUNDUN_X_APP_KEY, .*DUNDUN_X_ACCESS_SECRET: set all, or none/);
    assert.match(stderr, /DUNDUN_SMTP_URL, DUNDUN_SMTP_FROM: set all, or none/);
    assert.doesNotMatch(stderr, /letmein/);
  });

  test('no credential of a provider is printed', async () => {
    const secret = 'letmein';
    const settings = {
      ...{ DUNDUN_TWILIO_ACCOUNT_SID: 'AC00', DUNDUN_TWILIO_TOKEN: secret, DUNDUN_TWILIO_FROM: '+15005550006' },
      ...{ DUNDUN_X_APP_KEY: 'app', DUNDUN_X_APP_SECRET: secret, DUNDUN_X_ACCESS_TOKEN: secret },
      ...{ DUNDUN_X_ACCESS_SECRET: secret, DUNDUN_TELEGRAM_TOKEN: `1:${secret}` },
      ...{ DUNDUN_SMTP_URL: `smtp://awa:${secret}@mail.example`, DUNDUN_SMTP_FROM: 'Dundun <a@farm.example>' },
    };
    const { code, stdout, stderr } = await runVerb(['config'], { settings });
    assert.deepEqual([code, stderr], [0, '']);
    assert.ok(!stdout.includes(secret));
    assert.equal(stdout.match(/=\(set\)$/gm)?.length, 7);
  });

  test('the file named by DUNDUN_CONFIG is read, and the environment wins over it', async () => {
    const folder = makeFolder();
    const file = join(folder, 'dundun.env');
    writeFileSync(
      file,
      `# A comment\nDUNDUN_PASSWORD_LENGTH_MIN=12\nDUNDUN_LOG_LEVEL=warn\nDUNDUN_CORS_ORIGINS="https://a.example"\n`,
    );
    const settings = { DUNDUN_CONFIG: file, DUNDUN_LOG_LEVEL: 'error' };
    const { code, stdout } = await runVerb(['config'], { settings });
    assert.equal(code, 0);
    assert.match(stdout, /^DUNDUN_PASSWORD_LENGTH_MIN=12$/m);
    assert.match(stdout, /^DUNDUN_CORS_ORIGINS=https:\/\/a\.example$/m);
    assert.match(stdout, /^DUNDUN_LOG_LEVEL=error$/m);
  });

  test('a server starts from the file alone, its password included', async () => {
    const folder = makeFolder();
    const file = join(folder, 'dundun.env');
    const password = 'from-the-file-0815';
    writeFileSync(file, `DUNDUN_ADMIN_PASSWORD=${password}\nDUNDUN_DATA_DIR=${folder}/data\n`);
    const dundun = new Dundun({
      settings: { DUNDUN_CONFIG: file, DUNDUN_ADMIN_PASSWORD: undefined, DUNDUN_DATA_DIR: `${folder}/elsewhere` },
    });
    await dundun.ready;
    assert.equal(typeof (await login(dundun, 'admin', password)), 'string');
    assert.ok(existsSync(`${folder}/elsewhere`));
    assert.ok(!existsSync(`${folder}/data`));
    await dundun.stop();
  });

  test('a DUNDUN_CONFIG that cannot be read is a fault that names the file', async () => {
    const { code, stderr } = await runVerb(['serve'], { settings: { DUNDUN_CONFIG: '/nowhere/dundun.env' } });
    assert.equal(code, 2);
    assert.match(stderr, /DUNDUN_CONFIG names the file \/nowhere\/dundun\.env, which cannot be read/);
  });

  test('a name that is no setting is warned of, wherever it stands, and hinders nothing', async () => {
    const file = join(makeFolder(), 'dundun.env');
    writeFileSync(file, 'DUNDUN_LOGLEVEL=warn\n');
    const settings = { DUNDUN_CONFIG: file, DUNDUN_HTPP_PORT: '1', OTHER_NAME: '1' };
    const { code, stderr } = await runVerb(['config'], { settings });
    assert.equal(code, 0);
    assert.match(stderr, /no setting DUNDUN_LOGLEVEL/);
    assert.match(stderr, /no setting DUNDUN_HTPP_PORT/);
    assert.doesNotMatch(stderr, /OTHER_NAME|DUNDUN_CONFIG/);
  });

  test('`dundun config` prints every setting with its default and reason, and no secret', async () => {
    const { code, stdout, stderr } = await runVerb(['config']);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    for (const setting of Object.values(known)) {
      const lines = stdout.slice(stdout.indexOf(`# ${setting.reason}\n`)).split('\n');
      assert.equal(lines[1], `# default: ${setting.fallback === '' ? '(none)' : setting.fallback}`);
      assert.ok(lines[2]?.startsWith(`${setting.env}=`), setting.env);
    }
    assert.match(stdout, /^DUNDUN_ADMIN_PASSWORD=\(set\)$/m);
    assert.doesNotMatch(stdout, new RegExp(adminPassword));
  });

  test('what `dundun config` prints can be used as the file', async () => {
    const folder = makeFolder();
    const settings = { DUNDUN_DATA_DIR: `${folder}/awa's data #1`, DUNDUN_BASE_URL: 'https://d.example/#a' };
    const first = await runVerb(['config'], { settings: { ...settings, DUNDUN_ADMIN_PASSWORD: '' } });
    const file = join(folder, 'dundun.env');
    writeFileSync(file, first.stdout);
    const again = { DUNDUN_CONFIG: file, DUNDUN_ADMIN_PASSWORD: undefined };
    const second = await runVerb(['config'], { settings: again });
    assert.equal(second.stdout, first.stdout);
    assert.match(second.stdout, /DUNDUN_DATA_DIR=.*awa's data #1/);
  });

  test('what an admin chooses about strangers is a line of audit in the log', async () => {
    const dundun = await startDundun();
    const token = (await login(dundun)) as string;
    const path = '/api/v2/settings/guest-access';
    const json = { guest_access: 'push' };
    assert.equal((await call(dundun, path, { method: 'PUT', token, json })).status, 204);
    await dundun.stop();
    const line = dundun.stderr.split('\n').find((text) => text.includes('audit'));
    const { by, before, access, level } = JSON.parse(line ?? '{}');
    assert.deepEqual({ by, before, access, level }, { by: 'admin', before: 'full', access: 'push', level: 30 });
  });

  test('neither passwords nor tokens nor payloads are in the log at level trace', async () => {
    const dundun = await startDundun({ settings: { DUNDUN_LOG_LEVEL: 'trace' } });
    const wrong = 'wrong horse battery';
    const payload = 'payload-4711';
    const token = await login(dundun);
    assert.ok(typeof token === 'string');
    assert.equal(await login(dundun, 'admin', wrong), 401);
    await makeDevice(dundun, 'd', ['s']);
    const values = '/api/v2/devices/d/sensors/s/values';
    const key = 'key-0815';
    const pushes = await Promise.all([
      call(dundun, values, { token, json: { value: payload } }),
      call(dundun, values, { token: `${token}x`, json: { value: payload } }),
      call(dundun, values, { token: `${token} x`, json: { value: payload } }),
      call(dundun, values, { token, headers: { 'idempotency-key': key }, json: [{ value: payload }] }),
      call(dundun, values, { token, json: [{ value: payload, timestamp: payload }] }),
      call(dundun, `${values}?token=${token}`, { token }),
      call(dundun, `/nowhere?token=${token}`, { token, json: { password: wrong } }),
      call(dundun, '/api/v2/auth/token', { json: [`{"password": "${wrong}"`] }),
      fetch(`${dundun.url}/api/v2/auth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: `{"username": "admin", "password": "${wrong}"`,
      }),
    ]);
    assert.deepEqual(
      pushes.map((push) => push.status),
      [204, 401, 401, 204, 400, 200, 404, 400, 400],
    );
    for (const password of [adminPassword, wrong]) await connectOnce(dundun.ports, { username: 'admin', password });
    assert.deepEqual(await dundun.stop(), { code: 0, signal: null });
    const said = dundun.stdout + dundun.stderr;
    const parts = token.split('.');
    for (const secret of [adminPassword, wrong, payload, key, ...parts.slice(1)]) {
      assert.ok(!said.includes(secret), `${secret} is in:\n${said}`);
    }
  });
});
