// What a gateway sends late is not shown as what is measured now, wherever a value stands: list, device, sensor, map; live too.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { followed, launchBrowser, screens, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const minuteMs = 60_000;

describe('in a browser, values that come late', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  const push = (value: number, minutesAgo: number) => {
    const timestamp = new Date(server.clock.now() - minutesAgo * minuteMs).toISOString();
    return server.call('owner', 'POST', '/devices/well/sensors/level/values', { json: { value, timestamp } });
  };

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'level', name: 'Level', unit: 'cm' }];
    const location = { latitude: 14, longitude: -17 };
    await server.call('owner', 'POST', '/devices', { json: { id: 'well', name: 'Well', sensors, location } });
    await push(71, 3);
    await push(15, 60 * 30);
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`do not pass for those of now, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        const main = page.getByRole('main');
        const shown = async () => {
          await main.getByText('71', { exact: true }).first().waitFor();
          assert.equal(await main.getByText('15', { exact: true }).count(), 0);
        };
        await signIn(page, 'owner', '/devices');
        await shown();
        await page.goto('/map');
        await page.locator('.leaflet-marker-icon[title^="Well: fresh"]').click();
        await page.getByText('71', { exact: true }).first().waitFor();
        await page.goto('/devices/well/sensors/level');
        await shown();
        await main.getByText('3 min ago').first().waitFor();
        const isFollowed = followed(page, 'well');
        await page.goto('/devices/well');
        await isFollowed;
        await shown();
        // The same live: what comes late changes nothing, what is newer does.
        await push(15, 60 * 29);
        await push(15, 60 * 28);
        await push(72, 2);
        await main.getByText('72', { exact: true }).first().waitFor();
        await push(15, 60 * 27);
        await page.waitForTimeout(500);
        assert.equal(await main.getByText('15', { exact: true }).count(), 0);
      });
      await server.call('owner', 'DELETE', '/devices/well/sensors/level/values?dateFrom=2025-01-01&dateTo=2027-01-01');
      await push(71, 3);
      await push(15, 60 * 30);
    });
  }
});
