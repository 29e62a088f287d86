// The profile in a browser: data and channels, test messages, shares, API keys, password, language and colours.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  inTimeToUndo,
  launchBrowser,
  phone,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const evil = `<img src=x onerror="document.title='broken in'">`;

describe('in a browser, the profile', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3' } });
    await server.call('stranger', 'POST', '/devices', { json: { id: 'theirs', name: evil } });
    const scopes = ['device:view', 'device-data:view'];
    await server.call('owner', 'PUT', '/devices/field-3/shares/sharer', { json: { scopes } });
    await server.call('stranger', 'PUT', '/devices/theirs/shares/owner', { json: { scopes } });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('takes who one is, and says beside the field what the server refuses', async () => {
    await visit({ browser, server, expects: /400/ }, async (page) => {
      await signIn(page, 'owner', '/profile');
      await page.getByRole('textbox', { name: 'First name' }).fill('Omar');
      await page.getByRole('textbox', { name: 'Phone', exact: true }).fill('0800 nonsense');
      await page.getByLabel('Who may send me messages').selectOption('self');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('must be a phone number with country code').waitFor();
      assert.equal(await page.getByRole('textbox', { name: 'First name' }).inputValue(), 'Omar');
      await page.getByRole('textbox', { name: 'Phone', exact: true }).fill('+33 6 12 34 56 78');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      const { body } = await server.call('owner', 'GET', '/users/me');
      assert.deepEqual([body.firstName, body.phone, body.messages_from], ['Omar', ['+33612345678'], 'self']);
    });
  });

  test('sends a test message by a channel and says what became of it', async () => {
    const { body: me } = await server.call('sharer', 'GET', '/users/me');
    await server.call('sharer', 'PUT', `/users/${me.id}`, { json: { phone: ['+221771234567'] } });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'sharer', '/profile?tab=messages');
      await page.getByText('+221771234567').first().waitFor();
      assert.equal(await page.getByRole('link', { name: 'Enter it: E-mail' }).count(), 1);
      await page.getByRole('button', { name: 'Send a test by SMS' }).click();
      await page.getByText(/^Not sent: /).waitFor();
      const { body } = await server.call('sharer', 'GET', '/socials');
      assert.deepEqual([body[0].channel, body[0].username, body[0].status], ['sms', 'sharer', 'undelivered']);
      await assertAccessible(page);
    });
  });

  test('lists what is shared with me and by me, as text', async () => {
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=shares');
      const withMe = page.getByRole('list', { name: 'Shared with me' });
      await withMe.getByText('<img src=x').waitFor();
      assert.equal(await page.locator('img[src=x]').count(), 0);
      assert.match(await withMe.innerText(), /of stranger\s*see\s*read values/);
      await assertFitsScreen(page);
      await page
        .getByRole('list', { name: 'Shared by me' })
        .getByRole('link', { name: /Field 3/ })
        .click();
      await page.waitForURL('/devices/field-3');
    });
  });

  test('signing in says how one gets an account where nobody makes one for oneself', async () => {
    await visit({ browser, server }, async (page) => {
      await page.goto('/sign-in');
      await page.getByText('No account yet? Accounts are made by whoever runs this service.').waitFor();
      assert.equal(await page.getByRole('link', { name: 'Make an account' }).count(), 0);
    });
  });

  test('changes what is shared by me, ends it, takes that back, and shares one more', async () => {
    const shares = async (device: string) => (await server.call('owner', 'GET', `/devices/${device}/shares`)).body;
    const scopes = ['device:view', 'device-data:view'];
    await server.call('owner', 'POST', '/devices', { json: { id: 'well', name: 'Well' } });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=shares');
      const byMe = page.getByRole('list', { name: 'Shared by me' });
      const rights = byMe.getByRole('group', { name: 'Rights of sharer' });
      const changed = page.waitForResponse((answer) => answer.url().endsWith('/devices/field-3/shares/sharer'));
      await rights.getByText('push values').click();
      assert.equal((await changed).status(), 204);
      assert.ok((await shares('field-3'))[0].scopes.includes('device-data:create'));
      await inTimeToUndo(page, async () => {
        await byMe.getByRole('button', { name: 'Stop sharing with sharer' }).click();
        await page.getByText('No longer shared with sharer.').waitFor();
        assert.deepEqual(await shares('field-3'), []);
        await page.getByRole('button', { name: 'Undo' }).click();
        await rights.waitFor();
      });
      await until(async () => (await shares('field-3')).length === 1);
      await page.getByRole('combobox', { name: 'Device' }).fill('well');
      await page.getByRole('combobox', { name: 'Username' }).fill('stranger');
      await page.getByRole('button', { name: 'Share', exact: true }).click();
      await byMe.getByRole('link', { name: 'Well' }).waitFor();
      assert.deepEqual(await shares('well'), [{ username: 'stranger', scopes }]);
      await assertAccessible(page);
      await assertFitsScreen(page);
    });
    await server.call('owner', 'PUT', '/devices/field-3/shares/sharer', { json: { scopes } });
    await server.call('owner', 'DELETE', '/devices/well');
  });

  test('offers a key only where the button will stay, so that who presses it by keys does not lose it', async () => {
    await visit({ browser, server }, async (page) => {
      const known = Promise.withResolvers<void>();
      await page.route('**/api/v2/auth/keys', async (route) => {
        await known.promise;
        await route.continue();
      });
      await signIn(page, 'owner', '/profile?tab=keys');
      await page.getByRole('list', { name: 'API keys' }).waitFor({ state: 'attached' });
      assert.equal(await page.getByRole('button', { name: 'New key' }).count(), 0);
      known.resolve();
      await page.getByRole('button', { name: 'New key' }).waitFor();
    });
  });

  test('shows a new key at once, whatever comes of the list', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=keys');
      await page.getByRole('button', { name: 'New key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('What it is for').fill('Cellar');
      await page.route('**/api/v2/auth/keys', async (route) => {
        // Never answered.
        if (route.request().method() !== 'GET') await route.fallback();
      });
      await dialog.getByRole('button', { name: 'Make key' }).click();
      assert.match(await dialog.locator('pre').innerText(), /^dundun_/);
    });
    const { body: made } = await server.call('owner', 'GET', '/auth/keys');
    for (const { id } of made) await server.call('owner', 'DELETE', `/auth/keys/${id}`);
  });

  test('makes a key that is shown once, tells its last use, and revokes it', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=keys');
      await page.getByText('No key yet.').waitFor();
      await page.getByRole('button', { name: 'New key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Make key' }).click();
      await dialog.getByText('Give it a name').waitFor();
      await dialog.getByLabel('What it is for').fill(evil);
      await dialog.getByLabel('What it may do').selectOption('chosen');
      await dialog.getByLabel('devices-data:create').check();
      await dialog.getByLabel('devices:view', { exact: true }).check();
      await dialog.getByRole('button', { name: 'More fields' }).click();
      await dialog.getByLabel('Only these devices').fill('field-3');
      await page.keyboard.press('Enter');
      await dialog.getByLabel('Good until').fill('2026-12-31');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Make key' }).click();
      const key = await dialog.locator('pre').innerText();
      assert.match(key, /^dundun_[\w-]{43}$/);
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'I have copied it' }).click();
      const row = page.getByRole('list', { name: 'API keys' }).getByRole('listitem');
      await row.getByText('never used').waitFor();
      assert.match(await row.innerText(), /devices-data:create.*field-3/s);
      assert.equal(await page.getByText(key).count(), 0);
      const headers = { authorization: `Bearer ${key}` };
      assert.equal((await server.send('GET', '/api/v2/devices/field-3', { headers })).status, 200);
      // That it was used is noted after the answer.
      await server.running.idle();
      await page.reload();
      await row.getByText('Last used').waitFor();
      await row.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await page.getByText('No key yet.').waitFor();
      assert.equal((await server.send('GET', '/api/v2/devices/field-3', { headers })).status, 401);
      assert.equal(await page.locator('img[src=x]').count(), 0);
    });
  });

  test('changes the password, stays signed in here, and ends other sign-ins', async () => {
    await server.call('admin', 'POST', '/users', { json: { username: 'awa', password: 'talking drum' } });
    const login = { username: 'awa', password: 'talking drum' };
    const { text: token } = await server.send('POST', '/api/v2/auth/token', { json: login });
    await visit({ browser, server, expects: /40[03]/ }, async (page) => {
      await signIn(page, 'awa', '/profile?tab=access');
      await page.getByLabel('Present password').first().fill('guessed');
      await page.getByLabel('New password').first().fill('another drum');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('is not the present password').waitFor();
      await page.getByLabel('Present password').first().fill('talking drum');
      await page.getByLabel('New password').first().fill('password1');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('is one of the most common passwords').waitFor();
      await page.getByLabel('New password').first().fill('another drum');
      await page.getByRole('button', { name: 'Change password' }).click();
      await page.getByText('The password is changed.').waitFor();
      const headers = { authorization: `Bearer ${token}` };
      assert.equal((await server.send('GET', '/api/v2/users/me', { headers })).status, 401);
      await page.reload();
      const here = page.getByRole('button', { name: 'Sign out: This browser' });
      await here.click();
      await page.getByRole('link', { name: 'Sign in' }).waitFor();
    });
  });

  test('changes language and colours', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=access');
      await page.getByLabel('Colours', { exact: true }).selectOption('dark');
      assert.equal(await page.locator('html').getAttribute('data-mantine-color-scheme'), 'dark');
      await page.getByLabel('Language', { exact: true }).selectOption('fr');
      await page.getByRole('heading', { name: 'Langue et couleurs' }).waitFor();
      assert.equal(await page.locator('html').getAttribute('lang'), 'fr');
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has no fault in any part on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/profile');
        for (const [tab, text] of [
          ['data', 'First name'],
          ['messages', 'Try each channel'],
          ['shares', 'Field 3'],
          ['keys', 'New key'],
          ['access', 'This browser'],
        ] as const) {
          await page.goto(`/profile?tab=${tab}`);
          await page.getByRole('main').getByText(text).first().waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
        }
      });
    });
  }
});
