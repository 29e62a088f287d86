// Quotas in a browser: the profile shows one's own usage; an admin sees the usage of each user, sets limits and
// removes them.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  launchBrowser,
  phone,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, quotas', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start({ DUNDUN_QUOTAS: 'devices=4,sensors=10' });
    browser = await launchBrowser();
    for (const id of ['well-1', 'well-2', 'well-3']) {
      await server.call('owner', 'POST', '/devices', {
        json: { id, meta: { note: 'x'.repeat(3000) }, sensors: [{ id: 's' }] },
      });
    }
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('are in the profile, with a bar where there is a limit', async () => {
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'owner', '/profile');
      const section = page.getByRole('region', { name: 'Storage and limits' });
      await section.getByText('3 of 4').waitFor();
      assert.equal(await section.getByRole('progressbar', { name: 'Devices' }).getAttribute('aria-valuenow'), '75');
      await assertAccessible(page);
      await assertFitsScreen(page);
    });
  });

  test('are set by an admin for one user, and are the default again when the field is emptied', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin', '/users');
      await page.getByRole('list', { name: 'List of users' }).getByRole('link').filter({ hasText: 'owner' }).click();
      const section = page.getByRole('region', { name: 'Storage and limits' });
      await section.getByText('3 of 4').waitFor();
      await section.getByRole('button', { name: 'Change limits' }).click();
      const dialog = page.getByRole('dialog', { name: 'Limits of owner' });
      await dialog.getByLabel('Devices').fill('many');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('A whole number, a size').first().waitFor();
      await dialog.getByLabel('Devices').fill('12');
      await dialog.getByLabel('Datapoints', { exact: true }).fill('2GiB');
      await dialog.getByLabel('Sensors').fill('none');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await section.getByText('3 of 12').waitFor();
      await section.getByText('0 B of 2 GiB').waitFor();
      const { body } = await server.call('owner', 'GET', '/users/me/quota');
      assert.deepEqual(body.sensors, { used: 3, exception: true });
      await section.getByRole('button', { name: 'Change limits' }).click();
      assert.equal(await dialog.getByLabel('Sensors').inputValue(), 'none');
      await dialog.getByLabel('Devices').fill('');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await section.getByText('3 of 4').waitFor();
    });
  });

  for (const [name, options] of Object.entries(screens)) {
    const folder = process.env['DUNDUN_TEST_PICTURES'];
    test(`fit the screen (${name})`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'admin', '/users');
        await page.getByRole('list', { name: 'List of users' }).getByRole('link').filter({ hasText: 'owner' }).click();
        await page.getByRole('region', { name: 'Storage and limits' }).getByText('3 of 4').waitFor();
        await assertFitsScreen(page);
        if (folder !== undefined) await page.screenshot({ path: `${folder}/user-${name}.png`, fullPage: true });
        await page.getByRole('button', { name: 'Change limits' }).click();
        await page.getByRole('dialog').getByLabel('Devices').waitFor();
        if (folder !== undefined) await page.screenshot({ path: `${folder}/editor-${name}.png` });
      });
    });
  }
});
