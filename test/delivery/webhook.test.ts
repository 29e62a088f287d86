// Messages to webhooks: signatures as Standard Webhooks defines them, and addresses that webhooks must not reach.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { limits } from '../../src/config/limits.ts';
import { AddressGuard, type Resolve } from '../../src/delivery/address-guard.ts';
import { WebhookSender } from '../../src/delivery/webhook.ts';
import { WebhookKeys } from '../../src/domain/users/webhook-keys.ts';
import { awa, clock, messageTo, Provider, send, troubleTests } from '../support/peers/provider.ts';

let provider: Provider;
before(async () => {
  provider = await Provider.start();
});
after(() => provider.stop());

const secret = Buffer.from('a secret of the service');
const keys = new WebhookKeys(secret);
const here = ['127.0.0.1'];
const sender = (msMax = 20_000, networks = here, resolve?: Resolve) =>
  new WebhookSender({ keys, networks, ...(resolve === undefined ? {} : { resolve }) }, { clock, msMax });
const toAwa = (text?: string) => messageTo({ webhook: [`${provider.url}/hook?token=abc-4711`] }, 'webhook', text);
const secrets = ['abc-4711', keys.textOf(awa), secret.toString()];

suite('a message to a webhook', () => {
  test('is posted as JSON with id and time, and a signature that its key confirms', async () => {
    provider.reply = { status: 204 };
    const message = toAwa('Sec à 12 % 🌡');
    assert.deepEqual(await send(sender(), message, { secrets }), { kind: 'sent', code: '204' });
    const { method, path, headers, body } = provider.last;
    assert.deepEqual([method, path], ['POST', '/hook?token=abc-4711']);
    assert.deepEqual(JSON.parse(body), {
      type: 'notification',
      timestamp: new Date(clock.now()).toISOString().replace('.000', ''),
      data: { username: 'awa', message: message.text },
    });
    assert.equal(headers['content-type'], 'application/json');
    assert.equal(headers['webhook-id'], message.id);
    assert.equal(headers['webhook-timestamp'], String(clock.now() / 1000));
    // As a library of Standard Webhooks reads the key that awa finds in the profile.
    const key = Buffer.from(keys.textOf(awa).slice('whsec_'.length), 'base64');
    const signed = createHmac('sha256', key)
      .update(`${message.id}.${clock.now() / 1000}.${body}`)
      .digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${signed}`);
  });

  test('has the same id at every try, and a key of its own for every user', async () => {
    provider.reply = { status: 503 };
    const message = toAwa();
    await send(sender(), message, { secrets });
    const first = provider.last.headers['webhook-id'];
    await send(sender(), message, { secrets });
    assert.equal(provider.last.headers['webhook-id'], first);
    // Of another account, though it has the same name.
    assert.notEqual(keys.textOf(awa), keys.textOf({ ...awa, id: '6f1f0c1e-0000-4000-8000-000000000002' }));
    assert.notEqual(keys.textOf(awa), new WebhookKeys(Buffer.from('another')).textOf(awa));
  });

  test('is signed with the key before too for a day after it was changed', async () => {
    provider.reply = { status: 204 };
    const webhook = [`${provider.url}/hook`];
    const signedBy = (version: number, { headers, body }: typeof provider.last) => {
      const text = keys.textOf({ ...awa, webhookVersion: version });
      const signed = createHmac('sha256', Buffer.from(text.slice('whsec_'.length), 'base64'));
      return `v1,${signed.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`).digest('base64')}`;
    };
    for (const [ageMs, versions] of [
      [0, [3, 2]],
      [limits.webhookKeyOverlapMs - 1, [3, 2]],
      [limits.webhookKeyOverlapMs, [3]],
    ] as const) {
      const to = { webhook, webhookVersion: 3, webhookRotatedMs: clock.now() - ageMs };
      await send(sender(), messageTo(to, 'webhook'));
      const expected = versions.map((version) => signedBy(version, provider.last)).join(' ');
      assert.equal(provider.last.headers['webhook-signature'], expected);
    }
  });

  test('of an account that is older than versions of keys has the key that it had', async () => {
    const legacy = keys.textOf({ ...awa, webhookVersion: 0 });
    const digest = createHmac('sha256', secret).update('webhook:awa').digest('base64');
    assert.equal(legacy, `whsec_${digest}`);
  });

  test('cannot go to who has none', async () => {
    const sendOutcome = await send(sender(), messageTo({}, 'webhook'));
    assert.deepEqual(sendOutcome, { kind: 'undelivered', reason: 'awa has no webhook address' });
  });

  for (const status of [400, 401, 403, 404, 405, 410, 413, 422]) {
    test(`is failed with ${status}, and the next address is tried`, async () => {
      provider.reply = ({ path }) => ({ status: path === '/second' ? 200 : status });
      assert.deepEqual(await send(sender(), toAwa(), { secrets }), {
        ...{ kind: 'failed', reason: `the webhook refuses the message (${status})`, code: String(status) },
      });
      const webhook = [`${provider.url}/first`, `${provider.url}/second`, `${provider.url}/third`];
      assert.equal((await send(sender(), messageTo({ webhook }, 'webhook'))).kind, 'sent');
      assert.equal(provider.last.path, '/second');
    });
  }

  for (const status of [301, 302, 303, 307, 308]) {
    test(`is failed with ${status}: it follows nobody to elsewhere`, async () => {
      provider.reply = { status, headers: { location: `${provider.url}/inside` } };
      const asked = provider.asked.length;
      assert.equal((await send(sender(), toAwa(), { secrets })).kind, 'failed');
      assert.equal(provider.asked.length, asked + 1);
    });
  }

  test('goes out anew where a connection that was kept has been closed meanwhile', async () => {
    const keeping = sender();
    provider.reply = { status: 200 };
    assert.equal((await send(keeping, toAwa(), { secrets })).kind, 'sent');
    const asked = provider.asked.length;
    provider.reply = () => (provider.asked.length === asked + 1 ? 'cut' : { status: 200 });
    assert.equal((await send(keeping, toAwa(), { secrets })).kind, 'sent');
    const ids = provider.asked.slice(asked).map(({ headers }) => headers['webhook-id']);
    assert.equal(ids.length, 2);
    assert.equal(ids[0], ids[1]);
  });

  test('is tried again where the certificate is one that nobody vouches for, and is not handed over', async () => {
    const folder = join(import.meta.dirname, '../support/tls');
    const [key, cert] = ['key.pem', 'cert.pem'].map((file) => readFileSync(join(folder, file)));
    let asked = 0;
    const secure = createServer({ key, cert }, (_request, response) => {
      asked += 1;
      response.end();
    });
    secure.listen(0, '127.0.0.1');
    await once(secure, 'listening');
    const webhook = [`https://localhost:${(secure.address() as AddressInfo).port}/`];
    const sendOutcome = await send(sender(), messageTo({ webhook }, 'webhook'), { secrets });
    secure.close();
    assert.equal(sendOutcome.kind, 'retry');
    assert.equal((sendOutcome as { reason: string }).reason, 'the webhook has a certificate that is not trusted');
    assert.equal(asked, 0);
  });

  troubleTests({ provider: () => provider, sender, message: () => toAwa(), secrets });
});

suite('a webhook address that leads into a private network', () => {
  const isClosed = async (address: string, resolve?: Resolve, networks: readonly string[] = []) => {
    provider.reply = { status: 200 };
    const asked = provider.asked.length;
    const message = messageTo({ webhook: [address] }, 'webhook');
    const sendOutcome = await send(sender(5_000, [...networks], resolve), message);
    assert.deepEqual({ ...sendOutcome, reason: '' }, { kind: 'failed', reason: '', code: 'private' }, address);
    assert.equal(provider.asked.length, asked, `${address} was reached`);
  };
  const answering =
    (...addresses: readonly string[]): Resolve =>
    (_name, _options, callback) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );

  test('is not reached, however it is written', async () => {
    const hosts = [
      ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0x7f.1', '0177.0.0.1', '0.0.0.0', '0', '127.255.255.254'],
      ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '[::127.0.0.1]'],
      ...['localhost', 'LOCALHOST', '①②⑦.⓪.⓪.①'],
    ];
    for (const host of hosts) await isClosed(`http://${host}:${provider.port}/`);
  });

  test('is not reached by a name, whatever the name answers', async () => {
    const address = `http://hook.farm.example:${provider.port}/`;
    for (const inside of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.0.0.1', '169.254.169.254', 'fd00:ec2::254']) {
      await isClosed(address, answering(inside));
    }
    await isClosed(address, answering('10.0.0.1', '127.0.0.1', '::1'));
    await isClosed(address, answering());
  });

  test('is not reached by a name that answers differently the second time: what was checked is what is connected to', async () => {
    let asked = 0;
    const rebinding: Resolve = (_name, _options, callback) => {
      asked += 1;
      callback(null, [{ address: asked === 1 ? '203.0.114.1' : '127.0.0.1', family: 4 }]);
    };
    provider.reply = { status: 200 };
    const before = provider.asked.length;
    const address = `http://hook.farm.example:${provider.port}/`;
    const sendOutcome = await send(sender(300, [], rebinding), messageTo({ webhook: [address] }, 'webhook'));
    assert.equal(sendOutcome.kind, 'retry');
    assert.deepEqual([asked, provider.asked.length], [1, before]);
  });

  test('is reached where a setting names it, and nothing beside it', async () => {
    provider.reply = { status: 200 };
    const address = `http://hook.farm.example:${provider.port}/`;
    for (const network of ['127.0.0.1', '127.0.0.0/30', '127.0.0.0/8']) {
      const webhook = [`http://127.0.0.1:${provider.port}/`, `http://[::ffff:127.0.0.1]:${provider.port}/`, address];
      for (const one of webhook.slice(0, 1).concat(address)) {
        const message = messageTo({ webhook: [one] }, 'webhook');
        assert.equal((await send(sender(5_000, [network], answering('10.9.9.9', '127.0.0.1')), message)).kind, 'sent');
      }
      await isClosed(address, answering('10.9.9.9', '169.254.169.254'), [network]);
      await isClosed('http://[::1]/', undefined, [network]);
    }
  });

  test('is never the metadata of a cloud, whatever is allowed and however it is written', async () => {
    const everything = ['0.0.0.0/0', '::/0', '169.254.169.254', 'fd00:ec2::254'];
    const addressGuard = new AddressGuard(everything);
    const metadata = [
      '169.254.169.254',
      '168.63.129.16',
      'fd00:ec2::254',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      ...['169.254.170.2', '169.254.170.23', 'fd00:ec2::23', '100.100.100.200', '192.0.0.192', 'fd20:ce::254'],
      ...['169.254.42.42', 'fd00:42::42', '169.254.0.23', '64:ff9b:1::a9fe:a9fe', '::ffff:0:169.254.169.254'],
    ];
    for (const address of metadata) assert.equal(addressGuard.permits(address, 80), false, address);
    for (const address of ['169.254.169.253', 'fd00:ec2::253', '10.0.0.1'])
      assert.ok(addressGuard.permits(address, 80));
    await isClosed('http://169.254.169.254/latest/meta-data', undefined, everything);
    await isClosed('http://[::ffff:169.254.169.254]/', undefined, everything);
    await isClosed('http://metadata.example/', answering('169.254.169.254', 'fd00:ec2::254'), everything);
  });

  test('is never the service itself: its ports on this machine, or the address it is reached under', async () => {
    const port = Number(new URL(provider.url).port);
    const everything = ['0.0.0.0/0', '::/0'];
    const to = (webhook: string, options: object) => {
      const own = new WebhookSender({ keys, networks: everything, ...options }, { clock, msMax: 5_000 });
      return send(own, messageTo({ webhook: [webhook] }, 'webhook'), { secrets });
    };
    const asked = provider.asked.length;
    const ownPorts = () => [port];
    const addresses = [
      provider.url,
      `http://0.0.0.0:${port}`,
      `http://[::ffff:127.0.0.1]:${port}`,
      `http://127.9.9.9:${port}`,
    ];
    for (const address of addresses) assert.equal((await to(address, { ownPorts })).kind, 'failed', address);
    const resolve = answering('127.0.0.1');
    assert.equal((await to(`http://name.example:${port}`, { ownPorts, resolve })).kind, 'failed');
    assert.equal((await to(provider.url, { baseUrl: provider.url })).kind, 'failed');
    const dotted = { baseUrl: `http://dundun.example:${port}`, resolve };
    assert.equal((await to(`http://dundun.example.:${port}/`, dotted)).kind, 'failed');
    assert.equal(provider.asked.length, asked);
    assert.equal(
      (await to(provider.url, { ownPorts: () => [port + 1], baseUrl: 'https://dundun.example' })).kind,
      'sent',
    );
  });

  test('is told from the internet by its address', () => {
    const inside = [
      ...['0.0.0.0', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '169.254.169.254'],
      ...['172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.0.1', '198.18.0.1', '198.51.100.1'],
      ...['203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255'],
      ...[
        '::',
        '::1',
        '::ffff:10.0.0.1',
        '::ffff:0:10.0.0.1',
        '64:ff9b::10.0.0.1',
        '64:ff9b::1',
        '64:ff9b:1::10.0.0.1',
      ],
      ...['100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1', 'fc00::1', 'fd00:ec2::254'],
      ...['fe80::1', 'fe80::1%lo', 'fec0::1', 'ff02::1', 'localhost', '', '1.2.3'],
    ];
    const internet = [
      ...[
        '1.1.1.1',
        '9.255.255.255',
        '100.63.255.255',
        '100.128.0.1',
        '172.15.255.255',
        '172.32.0.1',
        '192.167.255.255',
      ],
      ...['223.255.255.255', '2606:4700::1111', '2a00:1450:4001::1', '::ffff:1.1.1.1', '64:ff9b::1.1.1.1'],
    ];
    const addressGuard = new AddressGuard([]);
    for (const address of inside) assert.equal(addressGuard.permits(address, 443), false, address);
    for (const address of internet) assert.equal(addressGuard.permits(address, 443), true, address);
    const allowing = new AddressGuard(['10.1.0.0/16', 'fd00::/8', '::1']);
    for (const address of ['10.1.255.255', '::ffff:10.1.2.3', 'fd12::1', '::1'])
      assert.ok(allowing.permits(address, 443));
    for (const address of ['10.2.0.0', 'fc00::1', '127.0.0.1'])
      assert.equal(allowing.permits(address, 443), false, address);
    const open = new AddressGuard(['0.0.0.0/0', '::/0']);
    for (const address of inside.slice(0, -3))
      assert.equal(open.permits(address, 443), !/%|^169\.254\.169\.254$|^fd00:ec2::254$/.test(address), address);
  });
});
