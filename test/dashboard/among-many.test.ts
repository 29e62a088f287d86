// In a browser, what helps among many: the map finds a device and leaves out states, alarms are filtered and acknowledged
// together, notifications are found by what they say, the heads of the list put it in order. All of it stands in the address.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  desktop,
  launchBrowser,
  phone,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const names = ['Well 1', 'Well 2', 'Well 10', 'Field 3', 'Field 4', 'Mast', 'Old pump house'] as const;

describe('in a browser, among many', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  const push = async (value: number, at: readonly string[]) => {
    for (const name of at)
      await server.call('owner', 'POST', `/devices/${idOf(name)}/sensors/TC/values`, { json: { value } });
    await server.running.idle();
  };

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    for (const [index, name] of names.entries()) {
      const json = {
        ...{ id: idOf(name), name, location: { latitude: 14 + index / 10, longitude: -16 } },
        sensors: [{ id: 'TC', name: 'Soil temperature', unit: '°C' }],
      };
      await server.call('owner', 'POST', '/devices', { json });
      const action = { usernames: ['owner'], channels: ['none'], message: '{TC}' };
      const condition = { devices: [idOf(name)], sensors: ['TC'], expression: 'TC>40' };
      const status = index === 0 ? 'inactive' : 'active';
      const rule = { description: `${name} is too hot`, condition, action, status };
      await server.call('owner', 'POST', '/notifications', { json: rule });
    }
    await push(20, ['Old pump house']);
    server.clock.advance(48 * 3_600_000);
    await push(20, names.slice(0, 6));
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`the map finds a device by its name and leaves out states, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/map');
        const legend = page.getByRole('list', { name: 'What the colours say' });
        await legend.getByRole('button', { name: /silent ?1/ }).waitFor();
        await legend.getByRole('button', { name: /fresh ?6/ }).click();
        await page.getByText('1 device of 7 with a position').waitFor();
        const pump = page.locator('.leaflet-marker-icon[title="Old pump house: silent"]');
        await pump.waitFor();
        await page.reload();
        await pump.waitFor();
        await assertAccessible(page);
        await legend.getByRole('button', { name: 'fresh' }).click();
        await page.getByText('7 devices with a position').waitFor();
        await page.getByRole('searchbox', { name: 'Find by name or id' }).fill('well 1');
        await page.getByText('2 devices of 7 with a position').waitFor();
        await page.locator('.leaflet-marker-icon[title^="Well 10"]').waitFor();
        assert.match(page.url(), /find=well/);
        await assertFitsScreen(page);
      });
    });

    test(`notifications are found by what they say, and by how they stand, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/notifications');
        await page.getByText('Mast: Soil temperature is above 40').waitFor();
        await page.getByRole('searchbox', { name: 'Find by name, device or sensor' }).fill('well');
        const rows = page.getByRole('list', { name: 'Notifications' }).getByRole('listitem');
        await becomesCount(page, 3);
        await page.getByText('Paused', { exact: true }).click();
        await becomesCount(page, 1);
        await rows.filter({ hasText: 'Well 1 is too hot' }).waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
        await page.getByText('Holds now', { exact: true }).click();
        await page.getByText('No notification fits.').waitFor();
        await page.getByRole('link', { name: 'Show all notifications' }).click();
        await becomesCount(page, 7);
      });
    });
  }

  for (const [screen, options] of Object.entries({ 'a desktop': desktop, 'a phone': phone })) {
    test(`a gateway and its device are named, and their lines are filled in with the key just made, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/gateways');
        await page.getByRole('button', { name: 'New gateway' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Name').fill(`Toit de l’école (${screen})`);
        await dialog.getByRole('button', { name: 'Declare gateway' }).click();
        await page.waitForURL(/gateways\/toit-de-l-ecole-a-/);
        await page.getByRole('button', { name: 'New device' }).click();
        await dialog.getByLabel('Name').fill(`Puits côté Nord, ${screen}`);
        await dialog.getByLabel('Sensors').fill('niveau m');
        await assertAccessible(page);
        await dialog.getByRole('button', { name: 'Create device' }).click();
        const id = `puits-cote-nord-${idOf(screen)}`;
        await page.waitForURL(`/devices/${id}`);
        await page.getByRole('tab', { name: 'Keys' }).click();
        await page.getByRole('button', { name: 'Make key' }).click();
        const key = await page.getByRole('status').filter({ hasText: 'This is the key' }).locator('pre').innerText();
        await page.getByRole('tab', { name: 'Snippets' }).click();
        const lines = page.getByRole('tabpanel').locator('pre');
        await lines.filter({ hasText: key }).waitFor();
        await page.getByText('the key that you just made is filled in').waitFor();
        await page.getByText('Python', { exact: true }).click();
        await lines.filter({ hasText: `Bearer ${key}` }).waitFor();
        await assertFitsScreen(page);
        await page.getByRole('link', { name: /Gateway toit-de-l-ecole/ }).click();
        await page.getByText(`-t 'devices/${id}/sensors/niveau/value'`).waitFor();
        await page.getByRole('link', { name: 'Make a key' }).click();
        await page.waitForURL(/profile\?tab=keys/);
        await server.call('owner', 'DELETE', `/devices/${id}`);
      });
    });
  }

  test('a guest on a phone finds the way in where the thumb is, and what else there is in a sheet at the foot', async () => {
    await visit({ browser, server, options: phone }, async (page) => {
      await page.goto('/map');
      await page.getByRole('button', { name: 'More' }).click();
      const sheet = page.getByRole('dialog');
      await sheet.getByRole('link', { name: 'Gateways' }).waitFor();
      await becomes(page, 'document.getAnimations().every((one) => one.playState !== "running")');
      const { y = 0, height = 0, width = 0 } = (await sheet.boundingBox()) ?? {};
      assert.equal(width, phone.viewport.width);
      assert.ok(y > 200 && Math.abs(y + height - phone.viewport.height) < 2, `${y} ${height}`);
      await assertAccessible(page);
      await page.keyboard.press('Escape');
      await sheet.waitFor({ state: 'detached' });
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Sign in' }).click();
      await page.waitForURL(/sign-in\?next=%2Fmap/);
    });
  });

  for (const [screen, options] of Object.entries({ 'a desktop': desktop, 'a phone': phone })) {
    test(`those silent for a day are a press away, on the map too, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/devices');
        const rows = page.getByRole('list').getByRole('link');
        await rows.filter({ hasText: 'Old pump house' }).getByRole('img', { name: 'silent' }).waitFor();
        await page.getByRole('group', { name: 'Filters' }).getByText('Silent for a day', { exact: true }).click();
        await page.waitForURL(/silent=true/);
        await rows.filter({ hasText: 'Well 1' }).first().waitFor({ state: 'detached' });
        await rows.filter({ hasText: /pump house/ }).waitFor();
        assert.equal(await rows.count(), 1);
        await page.getByRole('radiogroup').getByText('Map', { exact: true }).click();
        await page.locator('.leaflet-marker-icon[title="Old pump house: silent"]').waitFor();
        assert.equal(await page.locator('.leaflet-marker-icon[tabindex]').count(), 1);
        await assertFitsScreen(page);
        // What comes late has been heard now: dot, filter and order say the same.
        const timestamp = new Date(server.clock.now() - 40 * 3_600_000).toISOString();
        const json = { value: 19, timestamp };
        await server.call('owner', 'POST', '/devices/old-pump-house/sensors/TC/values', { json });
        await page.goto('/devices?silent=true');
        await page.getByText('No device fits').waitFor();
        await page.goto('/devices?sort=heard');
        await rows.first().filter({ hasText: 'Old pump house' }).getByRole('img', { name: 'fresh' }).waitFor();
      });
      server.clock.advance(48 * 3_600_000);
      await push(20, names.slice(0, 6));
    });
  }

  test('a head of the list of devices puts it in order, and a second press turns it round', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      const first = async (name: string) =>
        becomes(
          page,
          `document.querySelector('[role=list] a, ul a')?.innerText.includes(${JSON.stringify(name)}) === true`,
        );
      await page.getByRole('button', { name: 'Sort by Device' }).click();
      await first('Field 3');
      assert.match(page.url(), /sort=name/);
      const heard = page.getByRole('button', { name: 'Sort by Last heard' });
      await heard.click();
      await page.waitForURL(/sort=heard/);
      await heard.click();
      await page.waitForURL(/sort=silent/);
      assert.equal(await heard.getAttribute('aria-pressed'), 'true');
      await assertAccessible(page);
    });
  });

  for (const [screen, options] of Object.entries({
    'a desktop': desktop,
    'a phone': phone,
  })) {
    test(`many alarms are filtered, and acknowledged with one note, on ${screen}`, async () => {
      const hot = names.slice(1);
      await push(50, hot);
      await visit({ browser, server, options: options ?? desktop }, async (page) => {
        await signIn(page, 'owner', '/now');
        await page.getByRole('group', { name: 'Filters' }).getByText('Gateways', { exact: true }).click();
        await page.getByText('No alarm fits.').waitFor();
        await page.getByRole('button', { name: 'Show all alarms' }).click();
        await page.getByRole('button', { name: 'Acknowledge these 6' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Note').fill('Heat wave');
        await dialog.getByRole('button', { name: 'Acknowledge' }).click();
        await becomes(page, "document.body.innerText.split('owner is on it: Heat wave').length === 7");
        await assertAccessible(page);
        await assertFitsScreen(page);
        await page.getByText('Nobody on it', { exact: true }).click();
        await page.getByText('No alarm fits.').waitFor();
        assert.match(page.url(), /who=nobody/);
      });
      await push(20, hot);
      server.clock.advance(3_600_000);
    });
  }
});

function becomesCount(page: Page, count: number): Promise<void> {
  return becomes(page, `document.querySelectorAll('ul[aria-label="Notifications"] > li').length === ${count}`);
}

function idOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}
