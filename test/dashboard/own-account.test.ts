// What one takes along and how one leaves, in a browser: everything one has as a file, and the removal of one's account.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { filesOf } from '../support/archive.ts';
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
import { addUsers, password } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, one’s own account', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  let self = '';
  let heir = '';
  let users = 0;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });
  beforeEach(async () => {
    users += 1;
    [self, heir] = [`awa-${users}`, `binta-${users}`];
    await addUsers(server.folder, [self, heir], server.clock);
    await server.call(self, 'POST', '/devices', {
      json: { id: `field-${users}`, name: 'Field', sensors: [{ id: 'T' }] },
    });
    await server.call(self, 'POST', `/devices/field-${users}/sensors/T/values`, { json: { value: 21.5 } });
    await server.call(self, 'POST', '/gateways', { json: { id: `mast-${users}` } });
  });

  /** Opens the dialog that asks. */
  async function askToRemove(page: Page) {
    await page.getByRole('button', { name: 'Remove my account …' }).click();
    const dialog = page.getByRole('dialog', { name: 'Remove your account?' });
    await dialog.getByText('your sign-ins everywhere').waitFor();
    return dialog;
  }

  const login = async () =>
    (await server.send('POST', '/api/v2/auth/token', { json: { username: self, password } })).status;

  test('has everything saved as one file, on every screen', async () => {
    for (const [screen, options] of Object.entries(screens)) {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, self, '/profile?tab=access');
        const started = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download everything you have' }).click();
        const download = await started;
        assert.match(download.suggestedFilename(), new RegExp(`^dundun-${self}-\\d{4}-\\d\\d-\\d\\d\\.zip$`));
        const files = filesOf(await readFile(await download.path()));
        assert.match(files.get(`datapoints/0001-field-${users}.csv`) ?? '', /,21\.5\r\n$/, screen);
        await page.getByText(`${download.suggestedFilename()} is saved.`).waitFor();
        await assertFitsScreen(page);
      });
    }
  });

  test('is removed in two steps, with a password that is right, and what is owned is handed over', async () => {
    await visit({ browser, server, expects: /40[013]/ }, async (page) => {
      await signIn(page, self, '/profile?tab=access');
      const dialog = await askToRemove(page);
      await dialog.getByText('You own 1 device and 1 gateway. What becomes of it?').waitFor();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText('Name a user.').waitFor();
      await dialog.getByLabel('Who gets it').fill(heir);
      await page.getByRole('option', { name: heir }).click();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText(`${heir} gets 1 device and 1 gateway`).waitFor();
      await dialog.getByRole('button', { name: 'Remove account' }).click();
      await dialog.getByText('Enter your password.').waitFor();
      await assertAccessible(page);
      await dialog.getByLabel('Present password').fill('wrong drum');
      await dialog.getByRole('button', { name: 'Remove account' }).click();
      await dialog.getByText('is not the present password').waitFor();
      assert.equal(await login(), 200);
      await dialog.getByLabel('Present password').fill(password);
      await dialog.getByRole('button', { name: 'Remove account' }).click();
      await page.waitForURL('/sign-in');
      await page.getByText('Your account is gone.').waitFor();
    });
    assert.equal(await login(), 401);
    const { body } = await server.call(heir, 'GET', `/devices/field-${users}`);
    assert.equal(body.owner, heir);
  });

  test('takes its devices with it only where one says so and types one’s name', async () => {
    await visit({ browser, server, expects: /40[013]/ }, async (page) => {
      await signIn(page, self, '/profile?tab=access');
      const dialog = await askToRemove(page);
      await dialog.getByText('Delete it too').click();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText('1 device and 1 gateway with all values').waitFor();
      await dialog.getByLabel('Present password').fill(password);
      const act = dialog.getByRole('button', { name: 'Remove account' });
      assert.equal(await act.isDisabled(), true);
      await dialog.getByLabel(`Type ${self}`).fill(self);
      await act.click();
      await page.waitForURL('/sign-in');
      // Back leads to no page of somebody who is gone.
      await page.goBack();
      await page.waitForURL((url) => url.pathname !== '/profile');
    });
    assert.equal(await login(), 401);
    assert.equal((await server.call('admin', 'GET', `/devices/field-${users}`)).status, 404);
  });

  test('stays where one cancels, at each step', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, self, '/profile?tab=access');
      const dialog = await askToRemove(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await askToRemove(page);
      await dialog.getByLabel('Who gets it').fill(heir);
      await page.getByRole('option', { name: heir }).click();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByLabel('Present password').fill(password);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'hidden' });
    });
    assert.equal(await login(), 200);
  });

  for (const [screen, options] of Object.entries(screens))
    test(`is asked about in a dialog that fits ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, self, '/profile?tab=access');
        const folder = process.env['DUNDUN_TEST_PICTURES'];
        const picture = async (name: string) => {
          if (folder === undefined) return;
          mkdirSync(folder, { recursive: true });
          await page.screenshot({
            path: `${folder}/${screen.replaceAll(' ', '-')}-${name}.png`,
            fullPage: name === 'page',
          });
        };
        await page.getByText('Chrome on Linux').waitFor();
        await picture('page');
        const dialog = await askToRemove(page);
        await assertFitsScreen(page);
        await assertAccessible(page);
        await picture('first');
        await dialog.getByText('Delete it too').click();
        await dialog.getByRole('button', { name: 'Continue' }).click();
        await dialog.getByLabel('Present password').waitFor();
        await assertFitsScreen(page);
        await assertAccessible(page);
        await picture('last');
      });
    });
});
