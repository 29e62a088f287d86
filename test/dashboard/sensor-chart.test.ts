// The chart on a sensor's page in a browser: its span in the address, zooming, several sensors, figures, and downloads of what it
// shows. What a chart says of a span is in charts.test.ts.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Download, Page } from 'playwright-core';
import { becomes, launchBrowser, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { chart, makeSensorField, roof, soil } from '../support/sensor-field.ts';
import { TestServer } from '../support/test-server.ts';

/** The address has a span of about so many hours. */
async function assertZoomed(page: Page, hours: number): Promise<void> {
  await page.waitForURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  const spanMs = Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '');
  assert.ok(Math.abs(spanMs / 3_600_000 - hours) < 0.5, String(spanMs / 3_600_000));
}

describe('in a browser, the chart of a sensor', { skip }, () => {
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

  /** Air has more moments than Soil: with so many, both are drawn. */
  const bothDrawn = (page: Page) => becomes(page, `document.querySelector('.uplot')?.dataset.drawn > 100`);

  test('draws the shortest span that holds the last value, and says it in figures', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', soil);
      await chart(page).waitFor();
      assert.equal(await page.getByRole('radio', { name: '24 h' }).isChecked(), true);
      const figures = await page.getByLabel('The span in figures').innerText();
      for (const said of ['20', '29', '28', '81']) assert.ok(figures.includes(said), `${said} is in ${figures}`);
      await page.getByText('Every datapoint.').waitFor();
      await page.goto('/devices/field-3/sensors/old');
      await chart(page).waitFor();
      assert.equal(await page.getByRole('radio', { name: '30 d' }).isChecked(), true);
      await page.getByText('1 h', { exact: true }).click();
      await page.getByText('No datapoint in this span.').waitFor();
      await page.getByRole('button', { name: 'Show all' }).click();
      await page.waitForURL(/span=all/);
      await chart(page).waitFor();
    });
  });

  test('goes on with a drag that has begun when thresholds and firings come', async () => {
    await visit({ browser, server }, async (page) => {
      const begun = Promise.withResolvers<void>();
      await page.route('**/api/v2/notifications?**', async (route) => {
        await begun.promise;
        await route.fallback();
      });
      await signIn(page, 'owner', roof);
      const box = await chart(page).boundingBox();
      assert.ok(box !== null);
      await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 55, { steps: 4 });
      // Beside the open alarm, which names it too.
      const rule = page.locator('a:not([aria-label="Alarms"] a)', { hasText: 'Too warm' });
      assert.equal(await rule.count(), 0);
      begun.resolve();
      await rule.waitFor();
      await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await assertZoomed(page, 7.2);
    });
  });

  test('zooms by dragging and by two fingers, goes back by a double click, and has all of it in the address', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', soil);
      const box = await chart(page).boundingBox();
      assert.ok(box !== null);
      await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await assertZoomed(page, 7.2);
      await page.reload();
      await page.getByRole('button', { name: 'One step back' }).waitFor();
      await chart(page).dblclick();
      await page.waitForURL((url) => !url.search.includes('from='));
      const pinched = await pinch(page);
      assert.match(pinched, /from=.*to=/);
    });
  });

  test('reads every line under the crosshair, in local time and UTC', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', `${soil}?with=${encodeURIComponent('["field-3/RH"]')}`);
      await bothDrawn(page);
      const box = await chart(page).boundingBox();
      assert.ok(box !== null);
      await page.mouse.move(box.x + box.width * 0.8, box.y + 80);
      const legend = page.locator('.u-legend');
      await legend.getByText('UTC').waitFor();
      assert.match(await legend.innerText(), /Soil[\s\S]*\d °C[\s\S]*Air[\s\S]*\d %/);
    });
  });

  test('takes other sensors into the chart, also of other devices, whose names are text', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', soil);
      const picker = page.getByRole('combobox', { name: 'Compare with' }).or(page.getByLabel('Compare with')).first();
      await picker.click();
      await page.getByRole('option', { name: 'Air' }).click();
      await page.waitForURL(/with=.*RH/);
      await picker.fill('img');
      await page.getByRole('option', { name: '<img' }).first().click();
      await page.waitForURL(/with=.*well/);
      await page.locator('.u-legend').getByText('<img').waitFor();
      assert.equal(await page.locator('img[src=x]').count(), 0);
    });
  });

  test('draws a long span as means with the lowest and highest behind them', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3/sensors/long?span=1y');
      await page.getByText('Means of each day').waitFor();
      const figures = await page.getByLabel('The span in figures').innerText();
      for (const said of ['20,000', '49.5', '99']) assert.ok(figures.includes(said), `${said} is in ${figures}`);
    });
  });

  test('gives what is shown as CSV and PNG, and every datapoint', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', `${soil}?with=${encodeURIComponent('["field-3/RH"]')}&span=24h`);
      await bothDrawn(page);
      const take = async (name: RegExp): Promise<Download> => {
        await page.getByRole('button', { name: 'Download' }).click();
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('menuitem', { name }).click(),
        ]);
        return download;
      };
      const shown = await readFile(await (await take(/What is shown/)).path(), 'utf8');
      const [head, first] = shown.split('\r\n');
      assert.equal(head, 'timestamp,Soil (°C),Air (%)');
      assert.match(first ?? '', /^2026-01-14T19:20:00.000Z,20,40$/);
      const all = await readFile(await (await take(/Every datapoint/)).path(), 'utf8');
      assert.equal(all.trim().split('\n').length, 82);
      const picture = await readFile(await (await take(/Image/)).path());
      assert.equal(picture.subarray(1, 4).toString(), 'PNG');
    });
  });

  test('gives means as CSV with one digit more than what was measured, and the lowest and highest as they came', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3/sensors/long?span=1y');
      await becomes(page, `document.querySelector('.uplot')?.dataset.drawn > 100`);
      await page.getByRole('button', { name: 'Download' }).click();
      const item = page.getByRole('menuitem', { name: /What is shown/ });
      const [download] = await Promise.all([page.waitForEvent('download'), item.click()]);
      const rows = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n').slice(1);
      assert.ok(rows.length > 100, `${rows.length} rows`);
      for (const row of rows) assert.match(row, /^[^,]+,\d+(?:\.\d)?,\d+,\d+$/);
    });
  });

  test('gives what is shown as CSV with values that are no numbers, each as the CSV of the server has it', async () => {
    await visit({ browser, server }, async (page) => {
      const take = async () => {
        await page.getByRole('button', { name: 'Download' }).click();
        const item = page.getByRole('menuitem', { name: /What is shown/ });
        const [download] = await Promise.all([page.waitForEvent('download'), item.click()]);
        return (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
      };
      await signIn(page, 'owner', '/devices/field-3/sensors/mixed?span=24h');
      await chart(page).waitFor();
      const [head, ...lines] = await take();
      assert.equal(head, 'timestamp,mixed (m)');
      const query = 'format=csv&csv=spreadsheet';
      const { text } = await server.call('owner', 'GET', `/devices/field-3/sensors/mixed/values?${query}`);
      const written = text.trimEnd().split('\r\n').slice(1); // biome-ignore format: one line
      // The same moments and values; the server has the time of receiving between them.
      const ofServer = written.map((line) => line.replace(/^([^,]+),[^,]+,/, '$1,'));
      assert.deepEqual(
        lines.map((line) => line.replace('.000Z', 'Z')),
        ofServer,
      );
      assert.equal(lines.length, 10);
      // Too many to be read one by one: the newest are listed, and those are in the file.
      await page.goto('/devices/field-3/sensors/words?span=24h');
      await page.getByText('word 2999').waitFor();
      const many = await take();
      assert.match(many.at(-1) ?? '', /,word 2999$/);
      assert.equal(many.length, 2_501);
    });
  });
});

/** Two fingers apart on the chart; the address they lead to. */
async function pinch(page: Page): Promise<string> {
  const over = page.locator('.u-over');
  const box = await over.boundingBox();
  assert.ok(box !== null);
  const middle = box.x + box.width / 2;
  const fingers = (apart: number) =>
    [middle - apart, middle + apart].map((clientX, identifier) => ({ clientX, clientY: box.y + 50, identifier }));
  await over.dispatchEvent('touchstart', { touches: fingers(50), bubbles: true });
  await over.dispatchEvent('touchmove', { touches: fingers(200), bubbles: true, cancelable: true });
  await over.dispatchEvent('touchend', { touches: [], bubbles: true });
  await page.waitForURL(/from=/);
  return page.url();
}
