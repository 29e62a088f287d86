// What a chart says of a span in a browser: its axis, its days in the user's zone, gaps, sums of rain, steps back, times
// that are typed, sensors of other devices, and digits no finer than the sensor's.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  desktop,
  launchBrowser,
  phone,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

describe('in a browser, a chart', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const calib = {
      linear: {
        enabled: true,
        value_min: { sensor_value: 0, real_value: 0 },
        value_max: { sensor_value: 3, real_value: 1 },
      },
    };
    const sensors = [
      { id: 'once', unit: 'm' },
      { id: 'year', name: 'Soil', unit: '°C' },
      { id: 'rain', name: 'Rain', unit: 'mm' },
      { id: 'third', unit: 'V', calib },
    ];
    await server.call('owner', 'POST', '/devices', { json: { id: 'field', name: 'Onion field', sensors } });
    const elsewhere = [{ id: 'TC', name: 'Soil', unit: '°C' }];
    await server.call('owner', 'POST', '/devices', { json: { id: 'w-17', name: 'Old well', sensors: elsewhere } });
    const nowMs = server.clock.now();
    const push = async (device: string, sensor: string, json: unknown) => {
      const { status } = await server.call('owner', 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
      assert.equal(status, 204);
    };
    const at = (ms: number) => new Date(ms).toISOString();
    await push('field', 'once', { value: 3, timestamp: at(nowMs - 40 * dayMs) });
    // Every half an hour for a year but for three days.
    const year = Array.from({ length: 300 * 48 }, (_, n) => ({
      // The highest of the year is of today.
      value: n < 4 ? 90 : n % 48,
      timestamp: at(nowMs - n * 30 * minuteMs),
    }));
    const isHeard = ({ timestamp }: { timestamp: string }) =>
      Math.abs(Date.parse(timestamp) - (nowMs - 100 * dayMs)) > 1.5 * dayMs;
    await push('field', 'year', year.filter(isHeard));
    // Each hour of 40 days, 0.2 mm.
    const rain = Array.from({ length: 40 * 24 }, (_, n) => ({ value: 0.2, timestamp: at(nowMs - n * 60 * minuteMs) }));
    await push('field', 'rain', rain);
    await push(
      'field',
      'third',
      [1, 2, 4, 5].map((value, n) => ({ value, timestamp: at(nowMs - (5 - n) * minuteMs) })),
    );
    // Three seconds after those of the field.
    const shifted = year
      .slice(0, 96)
      .map(({ value }, n) => ({ value, timestamp: at(nowMs - n * 30 * minuteMs - 3_000) }));
    await push('w-17', 'TC', shifted);
    await server.running.idle();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const said = async (page: Page, what: 'span' | 'gaps' | 'ticks' | 'drawn' | 'values') => {
    await page.locator('.uplot[data-drawn]').waitFor();
    return (await page.locator('.uplot').getAttribute(`data-${what}`)) ?? '';
  };
  const lengthMs = (span: string) => Date.parse(span.split('/')[1] ?? '') - Date.parse(span.split('/')[0] ?? '');
  const drag = async (page: Page, from: number, to: number) => {
    await page.locator('.u-over').scrollIntoViewIfNeeded();
    const box = await page.locator('.u-over').boundingBox();
    assert.ok(box !== null);
    const before = page.url();
    await page.mouse.move(box.x + box.width * from, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForURL((url) => url.href !== before && url.search.includes('from='));
  };

  test('of one datapoint has the axis of its day', async () => {
    await visit({ browser, server, options: { ...desktop, timezoneId: 'Asia/Kathmandu' } }, async (page) => {
      for (const search of ['?span=all', '']) {
        await signIn(page, 'owner', `/devices/field/sensors/once${search}`);
        const span = await said(page, 'span');
        assert.equal(lengthMs(span), dayMs, span);
        // Midnight there is 18:15 in UTC.
        assert.match(span, /^2025-12-05T18:15:00.000Z\//);
      }
    });
  });

  test('of a year shows the mean of each day in the zone of the user, with the year on its axis and gaps as gaps', async () => {
    await visit({ browser, server, options: { ...desktop, timezoneId: 'Asia/Kathmandu' } }, async (page) => {
      const asked = page.waitForRequest((request) => request.url().includes('bucket=1d'));
      await signIn(page, 'owner', '/devices/field/sensors/year?span=1y');
      assert.match(new URL((await asked).url()).searchParams.get('timezone') ?? '', /^Asia\/Kath?mandu$/);
      await page.getByText('Means of each day; the band reaches').waitFor();
      assert.match(await said(page, 'ticks'), /2025[\s\S]*2026/);
      assert.equal(await said(page, 'gaps'), '1');
      // The axis has room for what is highest, also where that is of a day that is not over.
      const [low = 0, high = 0] = (await said(page, 'values')).split('/').map(Number);
      assert.ok(low <= 0 && high >= 90, `${low}/${high}`);
    });
  });

  test('has a gap where nothing was heard, however far one zooms in', async () => {
    await visit({ browser, server }, async (page) => {
      const middleMs = server.clock.now() - 100 * dayMs;
      await signIn(page, 'owner', '/devices');
      for (const [days, text] of [
        [60, 'Means of'],
        [20, 'Every datapoint'],
        [3.2, 'Every datapoint'],
      ] as const) {
        const [from, to] = [middleMs - (days / 2) * dayMs, middleMs + (days / 2) * dayMs];
        const query = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`;
        await page.goto(`/devices/field/sensors/year?${query}`);
        await page.getByText(text).waitFor();
        assert.equal(await said(page, 'gaps'), '1', `${days} days`);
      }
    });
  });

  test('of rain shows the sum of each day as bars, and the values where one wants them', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field/sensors/rain?span=30d');
      await page.getByText('Sum of each day.').waitFor();
      const box = await page.locator('.u-over').boundingBox();
      assert.ok(box !== null);
      await page.mouse.move(box.x + box.width / 2, box.y + 50);
      await page.locator('.u-legend').getByText('4.8 mm').waitFor();
      const figures = await page.getByLabel('The span in figures').innerText();
      assert.match(figures, /Total\s+14\d(\.\d)?\s+mm/);
      await page.getByText('As measured').click();
      await page.waitForURL(/as=values/);
      await page.getByText('Every datapoint.').waitFor();
    });
  });

  test('goes one step back for each zoom, by button, by a double click and after loading the page again', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field/sensors/year?span=30d');
      await said(page, 'span');
      await drag(page, 0.2, 0.8);
      const first = page.url();
      await drag(page, 0.3, 0.6);
      const second = page.url();
      await drag(page, 0.3, 0.6);
      await page.reload();
      await page.getByRole('button', { name: 'One step back' }).click();
      await page.waitForURL(second);
      await page.locator('.u-over').dblclick();
      await page.waitForURL(first);
      await page.getByRole('button', { name: 'One step back' }).click();
      await page.waitForURL(/span=30d/);
      assert.equal(await page.getByRole('button', { name: 'One step back' }).count(), 0);
    });
  });

  for (const [screen, options] of Object.entries({ 'a desktop': desktop, 'a phone': phone })) {
    test(`shows what is typed as from and to, and the same length earlier and later, on ${screen}`, async () => {
      await visit({ browser, server, options: { ...options, timezoneId: 'Africa/Dakar' } }, async (page) => {
        await signIn(page, 'owner', '/devices/field/sensors/year?span=7d');
        await said(page, 'span');
        await page.getByRole('button', { name: 'From – to' }).click();
        await page.getByLabel('From', { exact: true }).fill('2025-12-01T00:00');
        await page.getByLabel('To', { exact: true }).fill('2025-11-01T00:00');
        await page.getByText('It must not end before it begins.').waitFor();
        await page.getByLabel('To', { exact: true }).fill('2025-12-03T00:00');
        await assertAccessible(page);
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await becomes(
          page,
          `document.querySelector('.uplot')?.dataset.span.startsWith('2025-12-01T00:00:00.000Z/2025-12-03')`,
        );
        await page.getByRole('button', { name: 'Earlier' }).click();
        await becomes(
          page,
          `document.querySelector('.uplot')?.dataset.span.startsWith('2025-11-29T00:00:00.000Z/2025-12-01')`,
        );
        await page.getByRole('button', { name: 'Later' }).click();
        await page.getByRole('button', { name: 'Later' }).click();
        await becomes(
          page,
          `document.querySelector('.uplot')?.dataset.span.startsWith('2025-12-03T00:00:00.000Z/2025-12-05')`,
        );
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });
  }

  test('takes a sensor in that was found by the name of its device, and has one row a time in the table of both', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field/sensors/year?span=24h');
      const picker = page.getByRole('combobox', { name: 'Compare with' }).or(page.getByLabel('Compare with')).first();
      await picker.fill('old well');
      await page.getByRole('option', { name: 'Old well · Soil' }).waitFor();
      await picker.fill('well soil');
      await page.getByRole('option', { name: 'Old well · Soil' }).click();
      await page.waitForURL(/with=.*w-17/);
      await becomes(page, `Number(document.querySelector('.uplot')?.dataset.drawn) > 90`);
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Download' }).click();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('menuitem', { name: /What is shown/ }).click(),
      ]);
      const [head, ...rows] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
      // The head says that they are means, not values as they were measured.
      assert.match(
        head ?? '',
        /^timestamp,Onion field · Soil \(°C\) \(mean of 30 minutes\),Old well · Soil \(°C\) \(mean of 30 minutes\)$/,
      );
      assert.ok(rows.length < 52, String(rows.length));
      const whole = rows.filter((row) => /^[^,]+,[\d.]+,[\d.]+$/.test(row));
      assert.ok(whole.length >= rows.length - 2, rows.join('\n'));
    });
  });

  test('says no more digits than the sensor gives, once it is calibrated', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field/sensors/third?span=1h');
      await page.locator('.u-over').waitFor();
      const main = await page.getByRole('main').innerText();
      // Stored 5, and a third of it is 1.666…: a step of the sensor is a third.
      assert.match(main, /\b1\.7\b/);
      assert.doesNotMatch(main, /1\.66|1\.67|0\.333/);
      await page.goto('/devices/field');
      await page.getByText('1.7', { exact: true }).first().waitFor();
    });
  });
});
