// Datapoints that are dated in the future, in a browser: spans end now whatever they say, by the server's clock; the page
// of the sensor tells of them and shows them, that of the device names their sensors.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
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
import { TestServer } from '../support/test-server.ts';

const dayMs = 24 * 3_600_000;
const in2030 = '2030-05-01T10:00:00Z';
const soil = '/devices/field-3/sensors/TC';

describe('in a browser, what is dated in the future', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }, { id: 'live' }, { id: 'zone' }, { id: 'only' }];
    await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3', sensors } });
    const course = Array.from({ length: 100 }, (_, n) => ({ value: 20 + (n % 10), timestamp: at(n - 100) }));
    await push('TC', [...course, { value: 99, timestamp: in2030 }]);
    // A device that sends its local time as UTC.
    await push('zone', [
      { value: 1, timestamp: at(-13) },
      { value: 2, timestamp: at(-1) },
      { value: 3, timestamp: at(11) },
    ]);
    await push('only', [{ value: 7, timestamp: in2030 }]);
    await push('live', [{ value: 5, timestamp: at(-1) }]);
    await server.running.idle();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  /** So many times ten minutes from now. */
  const at = (tens: number) => new Date(server.clock.now() + tens * 600_000).toISOString();
  const push = async (sensor: string, json: unknown) => {
    const answer = await server.call('owner', 'POST', `/devices/field-3/sensors/${sensor}/values`, { json });
    assert.equal(answer.status, 204, answer.text);
  };
  const chart = (page: Page) => page.locator('.u-over');
  /** The last value of the span, the lowest, the mean, the highest, and how many there are. */
  const figures = async (page: Page) =>
    (await page.getByLabel('The span in figures').locator('dd').allInnerTexts()).map((text) =>
      text.replace(/\s+/g, ' '),
    );
  const notice = (page: Page) => page.getByRole('complementary', { name: 'Dated in the future' });

  test('is in no span that ends now, however long', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', soil);
      await chart(page).waitFor();
      assert.equal(await page.getByRole('radio', { name: '24 h' }).isChecked(), true);
      for (const span of ['24h', '7d', '1y', 'all']) {
        await page.goto(`${soil}?span=${span}`);
        await page.getByLabel('The span in figures').getByText('100', { exact: true }).waitFor();
        assert.deepEqual(await figures(page), ['29 °C', '20 °C', '24.5 °C', '29 °C', '100'], span);
      }
    });
  });

  test('is told beside the chart with how many and up to when, and is shown when it is asked for', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', `${soil}?span=7d`);
      await notice(page)
        .getByText(/1 datapoint lies in the future, at .*2030.* UTC/)
        .waitFor();
      await notice(page).getByRole('button', { name: 'Show' }).click();
      await page.waitForURL(/from=2030-05-01T09.*to=2030-05-01T10/);
      await page.getByLabel('The span in figures').getByText('99').first().waitFor();
      assert.equal((await figures(page)).at(-1), '1');
      await page.goto('/devices/field-3/sensors/zone?span=7d');
      await notice(page)
        .getByText(/1 datapoint lies in the future/)
        .waitFor();
      await page.getByLabel('The span in figures').getByText('2', { exact: true }).first().waitFor();
      assert.deepEqual((await figures(page))[4], '2');
      // Nothing else is there to be drawn.
      await page.goto('/devices/field-3/sensors/only');
      await page.getByText('No datapoint in this span.').waitFor();
      await notice(page).waitFor();
      await page.goto('/devices/field-3/sensors/live');
      await chart(page).waitFor();
      assert.equal(await notice(page).count(), 0);
    });
  });

  test('is named on the page of the device, whose sensors are as fresh as they are heard', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      await page
        .getByText(/Dated in the future/)
        .first()
        .waitFor();
      const link = page.getByRole('link', { name: 'Soil (1 datapoint)' });
      assert.equal(await link.getAttribute('href'), soil);
      assert.equal(await page.getByRole('link', { name: 'live (1 datapoint)' }).count(), 0);
      assert.equal(await page.getByRole('img', { name: /Dated in the future/ }).count(), 3);
      assert.equal(await page.getByRole('radio', { name: '24 h' }).isChecked(), true);
    });
  });

  test('holds up no value that comes after it', async () => {
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'field-3');
      await signIn(page, 'owner', '/devices/field-3/sensors/live');
      await chart(page).waitFor();
      await live;
      await push('live', { value: 6.5, timestamp: in2030 });
      await page.getByText('6.5').first().waitFor();
      await notice(page)
        .getByText(/1 datapoint lies/)
        .waitFor();
      await push('live', { value: 7.25 });
      await page.getByText('7.25').first().waitFor();
    });
  });

  test('is what the clock of the server says, not that of the browser', async () => {
    for (const wrongMs of [-40 * dayMs, 400 * dayMs]) {
      await visit({ browser, server }, async (page) => {
        await page.context().clock.setSystemTime(server.clock.now() + wrongMs);
        await signIn(page, 'owner', `${soil}?span=24h`);
        await page.getByLabel('The span in figures').getByText('100', { exact: true }).waitFor();
        await page.goto('/devices/field-3/sensors/zone?span=7d');
        await notice(page)
          .getByText(/1 datapoint lies/)
          .waitFor();
        assert.match(await page.getByRole('main').innerText(), /in (1|2) hr/);
      });
    }
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has no fault on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', soil);
        await notice(page).waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
        await page.goto('/devices/field-3');
        await page
          .getByText(/Dated in the future/)
          .first()
          .waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });
  }
});
