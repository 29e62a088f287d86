// A sensor's page in a browser, beside its chart (sensor-chart.test.ts): thresholds and firings, alarms, live values, calibration,
// retention and removal; no fault on any screen size.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  followed,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { chart, makeSensorField, roof, soil } from '../support/sensor-field.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, the page of a sensor', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    await makeSensorField(server);
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('shows the rules on it with their firings', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', roof);
      await page.getByRole('link', { name: 'Too warm' }).first().waitFor();
      await page.getByText('roof>27.5').first().waitFor();
      await page.getByText(/^[1-9]\d* firings?$/).waitFor();
      const told = page.getByRole('link', { name: 'Notify me when' });
      assert.match(String(await told.getAttribute('href')), /\/notifications\/new\?device=field-3&sensor=roof/);
    });
  });

  test('counts the firings of a rule on several devices where it fired alone', async () => {
    const devices = ['mast-1', 'mast-2'];
    const push = (device: string) =>
      server.call('owner', 'POST', `/devices/${device}/sensors/wind/values`, { json: { value: 30 } });
    for (const id of devices)
      await server.call('owner', 'POST', '/devices', { json: { id, sensors: [{ id: 'wind' }] } });
    const condition = { devices, sensors: ['wind'], expression: 'wind>20' };
    const action = { usernames: ['owner'], channels: ['none'], message: '{wind}' };
    await server.call('owner', 'POST', '/notifications', { json: { description: 'A storm', condition, action } });
    await push('mast-1');
    await server.running.idle();
    server.clock.advance(1_000);
    await push('mast-2');
    await server.running.idle();
    await visit({ browser, server }, async (page) => {
      for (const device of devices) {
        const told = page.waitForResponse((answer) =>
          new URL(answer.url()).pathname.endsWith(`/devices/${device}/alarms`),
        );
        await (device === 'mast-1'
          ? signIn(page, 'owner', `/devices/${device}/sensors/wind`)
          : page.goto(`/devices/${device}/sensors/wind`));
        await page.getByRole('link', { name: 'A storm' }).first().waitFor();
        await told;
        await page.getByText(/^1 firing$/).waitFor();
      }
    });
  });

  test('shows its open alarms, and not those of other sensors', async () => {
    const sensors = [{ id: 'wind' }, { id: 'rain' }];
    await server.call('owner', 'POST', '/devices', { json: { id: 'mast-3', sensors } });
    const condition = { devices: ['mast-3'], sensors: ['wind'], expression: 'wind>20' };
    const action = { usernames: ['owner'], channels: ['none'], message: '{wind}' };
    await server.call('owner', 'POST', '/notifications', { json: { description: 'A gale', condition, action } });
    for (const id of ['wind', 'rain'])
      await server.call('owner', 'POST', `/devices/mast-3/sensors/${id}/values`, { json: { value: 30 } });
    await server.running.idle();
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/mast-3/sensors/wind');
      await page.getByRole('list', { name: 'Alarms' }).getByText('A gale').waitFor();
      await page.goto('/devices/mast-3/sensors/rain');
      await page.getByText('30').first().waitFor();
      assert.equal(await page.getByRole('list', { name: 'Alarms' }).count(), 0);
    });
  });

  test('comes live', async () => {
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'field-3');
      await signIn(page, 'owner', '/devices/field-3/sensors/none');
      await page.getByText('No datapoint yet.').waitFor();
      await live;
      await server.call('owner', 'POST', '/devices/field-3/sensors/none/values', { json: { value: 77.25 } });
      await page.getByText('77.25').first().waitFor();
      await chart(page).waitFor();
    });
  });

  test('is calibrated with a preview, and kept as long as is said', async () => {
    await visit({ browser, server, expects: /400|422/ }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3/sensors/RH');
      await page.getByRole('button', { name: 'More about this sensor' }).click();
      await page.getByRole('menuitem', { name: 'Calibrate' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('High point: True value').fill('200');
      await dialog.getByText('58 % becomes 116 %.').waitFor();
      await dialog.getByLabel('High point: Sensor reads').fill('0');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('The two readings must differ.').waitFor();
      await dialog.getByLabel('High point: Sensor reads').fill('100');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('116', { exact: true }).first().waitFor();
      await page.getByRole('button', { name: 'More about this sensor' }).click();
      await page.getByRole('menuitem', { name: 'Edit sensor' }).click();
      await dialog.getByLabel('Name').fill('Air, moist');
      await dialog.getByLabel('Keep datapoints for').fill('9999999');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog
        .getByText(/whole number of days/)
        .first()
        .waitFor();
      await dialog.getByLabel('Keep datapoints for').fill('365');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'Air, moist' }).waitFor();
      const { body } = await server.call('owner', 'GET', '/devices/field-3/sensors/RH');
      assert.deepEqual(
        [body.name, body.retention_days, body.calib.linear.value_max.real_value],
        ['Air, moist', 365, 200],
      );
    });
  });

  test('is deleted once what goes with it was named', async () => {
    await visit({ browser, server }, async (page) => {
      await server.call('owner', 'POST', '/devices/field-3/sensors', { json: { id: 'gone' } });
      await server.call('owner', 'POST', '/devices/field-3/sensors/gone/values', { json: { value: 1 } });
      await signIn(page, 'owner', '/devices/field-3/sensors/gone');
      await page.getByRole('button', { name: 'More about this sensor' }).click();
      await page.getByRole('menuitem', { name: 'Delete sensor' }).click();
      await page.getByText('1 datapoint', { exact: true }).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete sensor' }).click();
      await page.waitForURL('/devices/field-3');
      assert.equal((await server.call('owner', 'GET', '/devices/field-3/sensors/gone')).status, 404);
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has no fault on ${screen}`, async () => {
      // The page of no sensor asks whether one had that id before.
      await visit({ browser, server, options, expects: /404 \(Not Found\)/ }, async (page) => {
        await signIn(page, 'owner', soil);
        for (const sensor of ['TC', 'roof', 'note', 'long', 'none', 'nowhere']) {
          await page.goto(`/devices/field-3/sensors/${sensor}`);
          await page
            .getByRole('main')
            .getByText(/The span in figures|Lowest|no such sensor/)
            .first()
            .waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
        }
        await page.goto('/devices/well/sensors/TC');
        await page.getByText('<img src=x').first().waitFor();
        assert.equal(await page.locator('img[src=x]').count(), 0);
        await assertFitsScreen(page);
      });
    });
  }
});
