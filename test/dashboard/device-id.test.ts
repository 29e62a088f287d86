// Another id for a device in a browser: the dialog says what becomes of the one before, and the page goes on under the new
// one, from old addresses too.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { assertAccessible, assertFitsScreen, launchBrowser, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, the id of a device', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    for (const id of ['field-3', 'taken'])
      await server.call('owner', 'POST', '/devices', { json: { id, name: `Device ${id}`, sensors: [{ id: 'TC' }] } });
    const json = { scopes: ['device:view', 'device:update', 'device-data:view'] };
    await server.call('owner', 'PUT', '/devices/field-3/shares/sharer', { json });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const openDialog = async (page: Page) => {
    await page.getByRole('button', { name: 'More about this device' }).click();
    await page.getByRole('menuitem', { name: 'Change the id' }).click();
    await page.getByRole('menu').waitFor({ state: 'detached' });
    return page.getByRole('dialog');
  };

  test('is changed; the former one is listed, leads to the page, and is ended', async () => {
    await visit({ browser, server, expects: /4\d\d/ }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      let dialog = await openDialog(page);
      const year = new Date(server.clock.now() + 365 * 24 * 3_600_000).getUTCFullYear();
      await dialog.getByText(new RegExp(`Until .*${year} it also answers by field-3`)).waitFor();
      const field = dialog.getByLabel('New id');
      await field.fill('no id');
      await dialog.getByRole('button', { name: 'Change the id' }).click();
      await dialog.getByText('An id has no spaces').waitFor();
      await field.fill('taken');
      await dialog.getByRole('button', { name: 'Change the id' }).click();
      await dialog.getByText('There is a device taken already').waitFor();
      await assertAccessible(page);
      await assertFitsScreen(page);
      await field.fill('field-3-north');
      await dialog.getByRole('button', { name: 'Change the id' }).click();
      await page.waitForURL('**/devices/field-3-north');
      await page.getByText('Its id is field-3-north now.').waitFor();
      await page.getByRole('heading', { name: 'Device field-3' }).waitFor();
      const pushed = await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', {
        json: { value: 21.5 },
      });
      assert.equal(pushed.status, 204);
      await page.getByText('21.5').first().waitFor();
      await page.goto(`${server.url}/devices/field-3`);
      await page.waitForURL('**/devices/field-3-north');
      dialog = await openDialog(page);
      await dialog.getByText('It still answers by').waitFor();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'End now: field-3' }).click();
      await dialog.getByText('It still answers by').waitFor({ state: 'detached' });
      assert.equal((await server.call('owner', 'GET', '/devices/field-3')).status, 404);
    });
  });

  test('of a sensor is changed on its page, which the former one leads to', async () => {
    await visit({ browser, server, expects: /4\d\d/ }, async (page) => {
      await signIn(page, 'owner', '/devices/taken/sensors/TC');
      await page.getByRole('button', { name: 'More about this sensor' }).click();
      await page.getByRole('menuitem', { name: 'Change the id' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(/it also answers by TC/).waitFor();
      await dialog.getByLabel('New id').fill('north');
      await dialog.getByRole('button', { name: 'Change the id' }).click();
      await page.waitForURL('**/devices/taken/sensors/north**');
      await page.getByText('Its id is north now.').waitFor();
      const json = { value: 17.5 };
      assert.equal((await server.call('owner', 'POST', '/devices/taken/sensors/TC/values', { json })).status, 204);
      await page.getByText('17.5').first().waitFor();
      await page.goto(`${server.url}/devices/taken/sensors/TC`);
      await page.waitForURL('**/devices/taken/sensors/north**');
      await page.getByText('17.5').first().waitFor();
      await assertAccessible(page);
      await assertFitsScreen(page);
    });
  });

  test('is not offered to who may change the device and does not own it', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'sharer', '/devices/field-3-north');
      await page.getByRole('button', { name: 'More about this device' }).click();
      await page.getByRole('menuitem', { name: 'Edit device' }).waitFor();
      assert.equal(await page.getByRole('menuitem', { name: 'Change the id' }).count(), 0);
    });
  });
});
