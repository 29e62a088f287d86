// Sign-ins, keys and received devices in a browser: users see and end their own sign-ins, admins end sign-ins and keys
// of others, and the receiver of a device decides about its shares.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertAccessible, assertFitsScreen, launchBrowser, phone, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { password } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'">`;
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

describe('in a browser, sign-ins', { skip }, () => {
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

  /** Signs in elsewhere. */
  async function signInAs(username: string, agent: string): Promise<void> {
    const headers = { 'user-agent': agent };
    const { status } = await server.send('POST', '/api/v2/auth/session', { headers, json: { username, password } });
    assert.equal(status, 200);
  }

  async function sessionsOf(username: string): Promise<number> {
    const { body: me } = await server.call(username, 'GET', '/users/me');
    const { body } = await server.call(username, 'GET', `/users/${me.id}/sessions`);
    return body.length;
  }

  test('are listed with this browser marked, and each ends alone', async () => {
    await signInAs('owner', firefox);
    await signInAs('owner', evil);
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=access');
      const rows = page.getByRole('list', { name: 'List of sign-ins' }).getByRole('listitem');
      await rows
        .filter({ hasText: 'This browser' })
        .getByText(/^Chrome on/)
        .waitFor();
      assert.match(await rows.filter({ hasText: 'Firefox on Linux' }).innerText(), /Signed in .*from 127\.0\.0\.1/s);
      assert.equal(await page.locator('img[src=x]').count(), 0);
      await assertAccessible(page);
      await assertFitsScreen(page);
      await page.getByRole('button', { name: 'Sign out: Firefox on Linux' }).click();
      await page.getByText('Firefox on Linux is signed out.').waitFor();
      assert.equal(await rows.count(), 2);
      assert.equal(await sessionsOf('owner'), 2);
    });
  });

  test('end everywhere, here too, once it is said what that does', async () => {
    await signInAs('sharer', firefox);
    // What the page it leads to has asked for meanwhile may be refused.
    await visit({ browser, server, expects: /40[13]/ }, async (page) => {
      await signIn(page, 'sharer', '/profile?tab=access');
      await page.getByRole('button', { name: 'Sign out everywhere' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('this one too').waitFor();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
      await page.getByRole('link', { name: 'Sign in' }).waitFor();
      assert.equal(await sessionsOf('sharer'), 0);
    });
  });

  test('and keys of a user are ended by an admin, one or all', async () => {
    const { body: user } = await server.call('stranger', 'GET', '/users/me');
    await signInAs('stranger', firefox);
    await signInAs('stranger', 'curl/8.5');
    for (const name of ['roof', 'cellar', evil])
      await server.call('stranger', 'POST', '/auth/keys', { json: { name } });
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'admin', `/users/${user.id}`);
      await page.getByRole('button', { name: 'End the sign-in: curl/8.5' }).click();
      await page.getByText('curl/8.5 is signed out.').waitFor();
      await page.getByRole('button', { name: 'Revoke roof' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Revoke' }).click();
      await page.getByText('roof is revoked.').waitFor();
      await assertAccessible(page);
      await assertFitsScreen(page);
      assert.equal(await page.locator('img[src=x]').count(), 0);
      await page.getByRole('button', { name: 'Revoke all keys of stranger' }).click();
      await dialog.getByRole('button', { name: 'Revoke all' }).click();
      await page.getByText('There is no key.').waitFor();
      await page.getByRole('button', { name: 'End all sign-ins of stranger' }).click();
      await dialog.getByRole('button', { name: 'End all' }).click();
      await page.getByText('No browser is signed in.').waitFor();
      assert.equal(await sessionsOf('stranger'), 0);
      const { body: left } = await server.call('stranger', 'GET', '/auth/keys');
      assert.deepEqual(left, []);
    });
  });

  test('a device that one was handed is shared again as before, or given back', async () => {
    const scopes = ['device:view', 'device-data:view'];
    for (const id of ['field-1', 'field-2']) {
      await server.call('owner', 'POST', '/devices', { json: { id } });
      await server.call('owner', 'PUT', `/devices/${id}/shares/sharer`, { json: { scopes } });
      await server.call('owner', 'PUT', `/devices/${id}/owner`, { json: 'stranger' });
    }
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'stranger', '/profile?tab=shares');
      const rows = page.getByRole('list', { name: 'Devices handed to you' }).getByRole('listitem');
      assert.match(await rows.filter({ hasText: 'field-1' }).innerText(), /from owner.*in (29|30) days.*with sharer/s);
      await assertAccessible(page);
      await assertFitsScreen(page);
      await page.getByRole('button', { name: 'Keep the old shares of field-1' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('sharer can use it again as before.').waitFor();
      await dialog.getByRole('button', { name: 'Keep the old shares' }).click();
      await page.getByText('field-1 is shared as before.').waitFor();
      assert.equal((await server.call('sharer', 'GET', '/devices/field-1')).status, 200);
      await page.getByRole('button', { name: 'Give it back: field-2' }).click();
      await dialog.getByText('It belongs to owner again').waitFor();
      await dialog.getByRole('button', { name: 'Give it back' }).click();
      await page.getByText('field-2 belongs to owner again.').waitFor();
      await rows.first().waitFor({ state: 'detached' });
      assert.equal(await page.getByText('Handed to you').count(), 0);
      const { body } = await server.call('owner', 'GET', '/devices/field-2');
      assert.equal(body.owner, 'owner');
    });
  });

  test('the webhook key is made anew, once it is said that both are good for a day', async () => {
    const keyOf = async () => (await server.call('owner', 'GET', '/users/me')).body.webhook_key as string;
    const { body: me } = await server.call('owner', 'GET', '/users/me');
    await server.call('owner', 'PUT', `/users/${me.id}`, { json: { webhook: ['https://example.org/hook'] } });
    const before = await keyOf();
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=messages');
      await page.getByRole('button', { name: 'New key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('For 24 hours').waitFor();
      await dialog.getByRole('button', { name: 'New key' }).click();
      await page.getByText('The new key is here to copy.').waitFor();
      assert.notEqual(await keyOf(), before);
    });
  });
});
