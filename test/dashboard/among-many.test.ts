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

  const push = async (value: number, at: readonly string[], timestamp?: string) => {
    for (const name of at) {
      const json = { value, ...(timestamp === undefined ? {} : { timestamp }) };
      await server.call('owner', 'POST', `/devices/${idOf(name)}/sensors/TC/values`, { json });
    }
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
    const twoDaysAgo = new Date(server.clock.now() - 48 * 3_600_000).toISOString();
    await push(20, names.slice(0, 6));
    await push(20, ['Old pump house'], twoDaysAgo);
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

  test('a head of the list of devices puts it in order, and a second press turns it round', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      const first = async (name: string) =>
        becomes(
          page,
          `document.querySelector('[role=list] a, ul a')?.innerText.includes(${JSON.stringify(name)}) === true`,
        );
      await page.getByRole('button', { name: 'Order by Device' }).click();
      await first('Field 3');
      assert.match(page.url(), /sort=name/);
      await page.getByRole('button', { name: 'Order by Last heard' }).click();
      await page.getByRole('button', { name: 'Order by Last heard' }).click();
      await first('Old pump house');
      await assertAccessible(page);
    });
  });

  for (const [screen, options] of Object.entries({
    'a desktop': screens['a desktop'],
    'a phone': screens['a phone'],
  })) {
    test(`many alarms are filtered, and acknowledged with one note, on ${screen}`, async () => {
      const hot = names.slice(1);
      await push(50, hot);
      await visit({ browser, server, options: options ?? desktop }, async (page) => {
        await signIn(page, 'owner', '/now');
        await page.getByText('Gateways', { exact: true }).last().click();
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
