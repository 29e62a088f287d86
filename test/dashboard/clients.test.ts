// MQTT clients in a browser: the list with its filters, one client with its subscriptions and refusals, and disconnecting
// it; what clients call themselves is shown as text.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { Client } from '../support/mqtt/mqtt-client.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'">`;
const will = { topic: 'users/owner/gone', payload: Buffer.from('mast is off'), qos: 1, retain: true } as const;

describe('in a browser, MQTT clients', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('are none at first, which is said', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/clients');
      await page.getByText('No MQTT client yet.').waitFor();
      await assertAccessible(page);
    });
  });

  test('are listed, found, and shown with what they hear and what was refused', async () => {
    const mast = await Client.connect(server, 'owner', { clientId: 'mast/1', will });
    await mast.subscribe(['users/owner/a', 'users/owner/b/#'], 1);
    await mast.publish('nobody/asked', 'x', { qos: 1 });
    const away = await Client.connect(server, 'owner', { clientId: evil, clean: false });
    await away.subscribe('users/owner/kept', 1);
    await away.end();
    await mast.publish('users/owner/kept', 'waits', { qos: 1 });
    const foreign = await Client.connect(server, 'stranger', { clientId: 'foreign' });
    await server.running.idle();
    for (const [name, screen] of Object.entries(screens)) {
      await visit({ browser, server, options: screen }, async (page) => {
        await signIn(page, 'owner', '/clients');
        await page.getByText('2 clients').waitFor();
        await page.getByRole('link', { name: /mast\/1.*connected/ }).waitFor();
        await page.getByRole('link', { name: /img src=x.*away/ }).waitFor();
        assert.equal(await page.getByText('foreign').count(), 0, name);
        await assertFitsScreen(page);
        await assertAccessible(page);
        await page.getByText('Away', { exact: true }).click();
        await page.waitForURL('/clients?state=kept');
        await page.getByText('1 client', { exact: true }).waitFor();
        await page.getByRole('searchbox').fill('nothing like it');
        await page.getByText('No client fits.').waitFor();
        await page.getByRole('button', { name: 'Show all clients' }).click();
        await page.getByRole('link', { name: /mast\/1/ }).click();
        await page.waitForURL('/clients/mast%2F1');
        await page.getByText('MQTT 3.1.1 over TCP').waitFor();
        const subscriptions = page.getByRole('list', { name: 'Subscriptions' }).getByRole('listitem');
        assert.deepEqual(await subscriptions.allInnerTexts(), ['users/owner/a\nQoS 1', 'users/owner/b/#\nQoS 1']);
        await page.getByText('mast is off').waitFor();
        await page.getByText('published on a topic that nothing belongs to').waitFor();
        await assertFitsScreen(page);
        await assertAccessible(page);
        assert.doesNotMatch(await page.title(), /broken in/);
      });
    }
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin', '/clients');
      await page.getByText('3 clients').waitFor();
      await page.getByRole('link', { name: /mast\/1/ }).click();
      await page.getByText('11 bytes, shown to its owner alone').waitFor();
      assert.equal(await page.getByText('mast is off').count(), 0);
    });
    await Promise.all([mast.end(), foreign.end()]);
  });

  test('have pages whatever dots they call themselves', async () => {
    for (const [clientId, path] of [
      ['.', '/clients/%252E'],
      ['..', '/clients/%252E%252E'],
      ['...', '/clients/...'],
    ] as const) {
      const client = await Client.connect(server, 'owner', { clientId });
      await client.subscribe('users/owner/a', 1);
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'owner', '/clients');
        await page
          .getByRole('link', { name: `${clientId} `, exact: false })
          .filter({ hasText: 'connected' })
          .click();
        await page.waitForURL(path);
        await page.reload();
        await page.getByRole('heading', { level: 1, name: clientId, exact: true }).waitFor();
        await page.getByRole('list', { name: 'Subscriptions' }).getByText('users/owner/a').waitFor();
        await page.getByRole('button', { name: 'Disconnect' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
        await client.closed;
        await page.waitForURL('/clients');
      });
    }
  });

  test('are disconnected after a question, and their sessions ended after another', async () => {
    const client = await Client.connect(server, 'owner', { clientId: 'pump', clean: false });
    await client.subscribe('users/owner/pump', 1);
    await visit({ browser, server, expects: /404/ }, async (page) => {
      await signIn(page, 'owner', '/clients/pump');
      await page.getByRole('button', { name: 'Disconnect' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Disconnect pump?').waitFor();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      await client.roundTrip();
      await page.getByRole('button', { name: 'Disconnect' }).click();
      await dialog.getByRole('button', { name: 'Disconnect' }).click();
      await client.closed;
      await page.getByText('pump is disconnected.').waitFor();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText('away', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'End its session' }).click();
      await dialog.getByText('Its subscriptions and what waits for it are gone.', { exact: false }).waitFor();
      await dialog.getByRole('button', { name: 'End its session' }).click();
      await page.waitForURL('/clients');
      await page.getByText('The session of pump has ended.').waitFor();
    });
    assert.equal((await server.call('owner', 'GET', '/mqtt/clients/pump')).status, 404);
  });
});
