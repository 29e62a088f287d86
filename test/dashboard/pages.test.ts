// Every page of the dashboard on every screen size: no error in the console, no fault that axe-core finds, nothing
// wider than the screen.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  desktop,
  everyScreen,
  launchBrowser,
  phone,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const longName = 'A very long name of a device that somebody typed without ever thinking of the screen of a phone';
const sensors = [
  { id: 'TC', name: 'Soil temperature', unit: '°C' },
  { id: 'RH', unit: '%' },
  { id: 'text', name: longName },
];

describe('every page of the dashboard', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  /** Each with a text that says it is there. */
  let paths: readonly (readonly [path: string, text: string])[];

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const location = { latitude: 16.03, longitude: -16.49 };
    await server.call('admin', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3', sensors, location } });
    await server.call('admin', 'POST', '/devices', { json: { id: 'x'.repeat(256), name: longName, sensors } });
    const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
    const values = Array.from({ length: 48 }, (_, n) => ({ value: 20 + Math.sin(n / 5), timestamp: at(n * 30) }));
    for (const device of ['field-3', 'x'.repeat(256)]) {
      await server.call('admin', 'POST', `/devices/${device}/sensors/TC/values`, { json: values });
      await server.call('admin', 'POST', `/devices/${device}/sensors/text/values`, { json: { value: longName } });
    }
    await server.call('admin', 'POST', '/gateways', { json: { id: 'gateway-1', name: 'North mast' } });
    const project = await server.call('admin', 'POST', '/projects', { json: { name: 'Onions' } });
    const rule = await server.call('admin', 'POST', '/notifications', {
      json: {
        description: 'Too cold',
        condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<40' },
        action: { usernames: ['admin'], channels: ['none'], message: '{id} is {TC}' },
      },
    });
    const { body: me } = await server.call('admin', 'GET', '/users/me');
    paths = [
      ['/now', 'Now'],
      ['/devices', 'Field 3'],
      ['/devices?find=nothing', 'No device fits.'],
      ['/devices/field-3', 'Soil temperature'],
      ['/devices/field-3/sensors/TC', 'Field 3'],
      ['/map', 'Map'],
      ['/notifications', 'Too cold'],
      [`/notifications/${rule.text}`, 'Too cold'],
      ['/gateways', 'North mast'],
      ['/gateways/gateway-1', 'North mast'],
      ['/projects', 'Onions'],
      [`/projects/${project.text}`, 'Onions'],
      ['/users', 'stranger'],
      [`/users/${me.id}`, 'admin'],
      ['/profile', 'admin'],
      ['/import', 'Import'],
      ['/nowhere', 'There is nothing here.'],
    ];
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  for (const [screen, options] of Object.entries(everyScreen)) {
    test(`on ${screen} has no fault`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'admin');
        for (const [path, text] of paths) {
          await page.goto(path);
          await page.getByRole('main').getByText(text).first().waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
        }
      });
    });
  }

  test('goes to its own address by the rail, and by the bar of a phone', async () => {
    for (const options of [desktop, phone]) {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'admin');
        await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Map' }).click();
        await page.waitForURL('/map');
        await page.getByRole('heading', { name: 'Map' }).waitFor();
        assert.equal(await page.title(), 'Map · Dundun');
      });
    }
  });
});
