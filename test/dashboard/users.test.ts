// Users in a browser: an admin finds, creates, changes and removes accounts; refusals of the server are shown beside
// their fields; texts of strangers are shown as text; other users see no more than they may.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  inTimeToUndo,
  launchBrowser,
  phone,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'">`;

describe('in a browser, users', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    for (const [username, firstName] of [
      ['evil', evil],
      ['leaver', 'Lea'],
      ['quitter', 'Quentin'],
      ['moussa', 'Moussa'],
    ]) {
      await server.call('admin', 'POST', '/users', { json: { username, firstName, password: 'talking drum' } });
    }
    for (const [as, id] of [
      ['leaver', 'well-1'],
      ['leaver', 'well-2'],
      ['quitter', 'pump'],
    ] as const) {
      await server.call(as, 'POST', '/devices', { json: { id, sensors: [{ id: 'TC' }] } });
    }
    await server.call('leaver', 'POST', '/gateways', { json: { id: 'mast' } });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  async function open(page: Page, username: string): Promise<void> {
    await page.getByRole('list', { name: 'List of users' }).getByRole('link').filter({ hasText: username }).click();
    await page.getByRole('heading', { level: 1, name: username }).waitFor();
  }

  test('are found by a part of their name, which stands in the address', async () => {
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'admin', '/users');
      await page.getByText('moussa', { exact: true }).waitFor();
      assert.equal(await page.locator('img[src=x]').count(), 0);
      await page.getByText('<img src=x').waitFor();
      await page.getByRole('searchbox').fill('OUSS');
      await page.waitForURL('/users?find=OUSS');
      await page.getByText('1 user', { exact: true }).waitFor();
      await page.getByRole('searchbox').fill('nobody at all');
      await page.getByText('Nobody fits.').waitFor();
      await page.getByRole('button', { name: 'Show all users' }).click();
      await page.getByText('leaver', { exact: true }).waitFor();
      await assertFitsScreen(page);
    });
  });

  test('are made with all that the specification names, and a phone is checked with its country', async () => {
    await visit({ browser, server, expects: /4(00|22)/ }, async (page) => {
      await signIn(page, 'admin', '/users');
      await page.getByRole('button', { name: 'New user' }).click();
      const dialog = page.getByRole('dialog', { name: 'New user' });
      const field = (name: string) => dialog.getByRole('textbox', { name, exact: true });
      await field('Username').fill('awa');
      await dialog.getByRole('button', { name: 'Make one up' }).click();
      const password = await dialog.getByLabel('Password').first().inputValue();
      assert.match(password, /^([a-z2-9]{4}-){3}[a-z2-9]{4}$/);
      await dialog.getByRole('button', { name: 'More fields' }).click();
      await field('First name').fill('Awa');
      await field('Last name').fill('Diop');
      await field('E-mail').fill('awa@dundun.example');
      await field('Phone').fill('+221 77 123 45 67');
      await dialog.getByRole('button', { name: 'Add: Phone' }).click();
      await field('Phone 2').fill('77 123 45 67');
      await field('Address').fill('Rue 10, Saint-Louis');
      await field('Facebook').fill('awa.diop');
      await field('X (Twitter)').fill('@awadiop');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Create user' }).click();
      await dialog.getByText('must be a phone number with country code').waitFor();
      assert.equal(await field('Phone 2').getAttribute('aria-invalid'), 'true');
      assert.notEqual(await field('Phone').getAttribute('aria-invalid'), 'true');
      await dialog.getByRole('button', { name: 'Remove Phone 2' }).click();
      await dialog.getByRole('button', { name: 'Create user' }).click();
      await page.getByText('awa can sign in now.').waitFor();
      const { body } = await server.call('admin', 'GET', '/users?username=awa');
      const { firstName, lastName, email, phone: phones, address, facebook, twitter, admin } = body[0];
      assert.deepEqual(
        { firstName, lastName, email, phones, address, facebook, twitter, admin },
        {
          ...{ firstName: 'Awa', lastName: 'Diop', email: 'awa@dundun.example', phones: ['+221771234567'] },
          ...{ address: ['Rue 10, Saint-Louis'], facebook: ['awa.diop'], twitter: ['awadiop'], admin: false },
        },
      );
      const login = { username: 'awa', password };
      assert.equal((await server.send('POST', '/api/v2/auth/token', { json: login })).status, 200);
    });
  });

  test('keep what was typed when the name is taken', async () => {
    await visit({ browser, server, expects: /422/ }, async (page) => {
      await signIn(page, 'admin', '/users');
      await page.getByRole('button', { name: 'New user' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Username').fill('moussa');
      await dialog.getByLabel('Password').first().fill('talking drum');
      await dialog.getByRole('button', { name: 'Create user' }).click();
      await dialog.locator('[id$="-error"]').getByText('There is a user moussa already.').waitFor();
      assert.equal(await dialog.getByLabel('Password').first().inputValue(), 'talking drum');
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    });
  });

  test('are changed, get a new password, and become admins and no admins again', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin', '/users');
      await open(page, 'moussa');
      await assertAccessible(page);
      await page.getByRole('textbox', { name: 'Last name' }).fill(evil);
      await page.getByRole('button', { name: 'Save' }).first().click();
      await page.getByText('Saved.').waitFor();
      await page.getByText(`Moussa ${evil}`).waitFor();
      assert.equal(await page.locator('img[src=x]').count(), 0);
      await inTimeToUndo(page, async () => {
        await page.getByRole('switch', { name: 'Admin' }).click();
        await page.getByText('moussa is an admin now.').waitFor();
        await page.getByRole('button', { name: 'Undo' }).click();
      });
      await page.getByText('moussa is no admin any more.').waitFor();
      await page.getByLabel('New password').first().fill('another drum');
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByText('moussa has a new password.').waitFor();
      const login = { username: 'moussa', password: 'another drum' };
      assert.equal((await server.send('POST', '/api/v2/auth/token', { json: login })).status, 200);
      const { body } = await server.call('admin', 'GET', '/users?username=moussa');
      assert.deepEqual([body[0].lastName, body[0].admin], [evil, false]);
    });
  });

  test('go, and hand over what they own', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin', '/users');
      await open(page, 'leaver');
      await page.getByRole('button', { name: 'Remove leaver' }).click();
      const dialog = page.getByRole('dialog', { name: 'Remove leaver?' });
      await dialog.getByText('leaver owns 2 devices and 1 gateway').waitFor();
      await dialog.getByRole('button', { name: 'Remove account' }).click();
      await dialog.getByText('Name a user.').waitFor();
      await dialog.getByLabel('Who gets it').fill('own');
      await page.getByRole('option', { name: 'owner' }).click();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Remove account' }).click();
      await page.getByText('leaver is gone.').waitFor();
      assert.equal(new URL(page.url()).pathname, '/users');
      assert.equal((await server.call('owner', 'GET', '/devices/well-2')).body.owner, 'owner');
      assert.equal((await server.call('owner', 'GET', '/gateways/mast')).body.owner, 'owner');
    });
  });

  test('go with what they own only when their name is typed', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin', '/users');
      await open(page, 'quitter');
      await page.getByRole('button', { name: 'Remove quitter' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('Delete it too').click();
      const remove = dialog.getByRole('button', { name: 'Remove account' });
      assert.ok(await remove.isDisabled());
      await dialog.getByLabel('Type quitter to confirm').fill('quitter');
      await remove.click();
      await page.getByText('quitter is gone.').waitFor();
      assert.equal((await server.call('admin', 'GET', '/devices/pump')).status, 404);
    });
  });

  test('show somebody who is no admin nothing to change', async () => {
    const { body } = await server.call('admin', 'GET', '/users?username=sharer');
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'stranger', `/users/${body[0].id}`);
      await page.getByRole('heading', { level: 1, name: 'sharer' }).waitFor();
      assert.equal(await page.getByRole('main').getByRole('button').count(), 0);
      assert.equal(await page.getByRole('main').getByRole('textbox').count(), 0);
    });
  });
});
