// A sensor's page in a browser: the chart and its span in the address, zooming, several sensors, figures, downloads,
// thresholds, calibration, and retention; no fault on any screen size.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import type { Browser, Download, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  followed,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;
const soil = '/devices/field-3/sensors/TC';
/** The one with a rule. */
const roof = '/devices/field-3/sensors/roof';

/** The address has a span of about so many hours. */
async function assertZoomed(page: Page, hours: number): Promise<void> {
  await page.waitForURL(/from=.*to=/);
  const { searchParams } = new URL(page.url());
  const spanMs = Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '');
  assert.ok(Math.abs(spanMs / 3_600_000 - hours) < 0.5, String(spanMs / 3_600_000));
}

describe('in a browser, the page of a sensor', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [
      { id: 'TC', name: 'Soil', unit: '°C' },
      { id: 'RH', name: 'Air', unit: '%' },
      { id: 'roof', name: 'Roof', unit: '°C' },
      { id: 'note' },
      { id: 'old', unit: 'm' },
      { id: 'long' },
      { id: 'none' },
      { id: 'mixed', unit: 'm' },
      { id: 'words' },
    ];
    await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3', sensors } });
    await server.call('owner', 'POST', '/devices', {
      json: { id: 'well', name: evil, sensors: [{ id: 'TC', name: evil }] },
    });
    const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
    const push = async (device: string, sensor: string, json: unknown) => {
      const { status } = await server.call('owner', 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
      assert.equal(status, 204);
    };
    const course = Array.from({ length: 100 }, (_, n) => ({ value: 20 + (n % 10), timestamp: at((100 - n) * 10) }));
    await push('field-3', 'TC', course.toSpliced(40, 20));
    await push(
      'field-3',
      'RH',
      course.map(({ value, timestamp }) => ({ value: value * 2, timestamp })),
    );
    await push(
      'well',
      'TC',
      course.map(({ value, timestamp }) => ({ value: value / 2, timestamp })),
    );
    await push('field-3', 'note', { value: evil });
    await push('field-3', 'old', { value: 3, timestamp: at(60 * 24 * 20) });
    const mixed = [1.5, 'dry, "very"', true, { wet: [1] }, null, '=1+1', '-4', -4, 'same', 2].map((value, n) => {
      return { value, timestamp: n < 8 ? at(100 - n) : '2026-01-15T11:30:00Z' };
    });
    await push('field-3', 'mixed', mixed);
    const words = Array.from({ length: 3_000 }, (_, n) => ({ value: `word ${n}`, timestamp: at((3_000 - n) / 10) }));
    await push('field-3', 'words', words);
    const year = Array.from({ length: 20_000 }, (_, n) => ({ value: n % 100, timestamp: at((20_000 - n) * 25) }));
    await push('field-3', 'long', year);
    await push('field-3', 'TC', { value: 28, timestamp: at(1) });
    await push('field-3', 'roof', course);
    const rule = { devices: ['field-3'], sensors: ['roof'], expression: 'roof>27.5' };
    const action = { usernames: ['owner'], channels: ['none'], message: '{roof}' };
    await server.call('owner', 'POST', '/notifications', {
      json: { description: 'Too warm', condition: rule, action },
    });
    await push('field-3', 'roof', { value: 28, timestamp: at(1) });
    await server.running.idle();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const chart = (page: Page) => page.locator('.u-over');
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
