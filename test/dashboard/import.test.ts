// Imports in a browser: a logger's CSV is recognised, mapped, previewed, checked and imported; a large file in parts,
// continued where it broke off; refused lines are shown with their numbers; and exports as files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  desktop,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror=document.title='broken_in'>`;
const paris = { ...desktop, timezoneId: 'Europe/Paris' };

describe('in a browser, the import', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', sensors: [{ id: 'TC', unit: '°C' }] } });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  async function choose(page: Page, name: string, text: string | Buffer): Promise<void> {
    const buffer = Buffer.isBuffer(text) ? text : Buffer.from(text);
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer });
    await page.getByText(name).waitFor();
  }

  async function values(sensor: string): Promise<unknown[][]> {
    const { body } = await server.call('owner', 'GET', `/devices/field-3/sensors/${sensor}/values?limit=30000`);
    return body.map(({ timestamp, value }: Record<string, unknown>) => [timestamp, value]);
  }

  test('finds out how a logger writes, takes its clock for local, and stores after a look', async () => {
    const bytes = Buffer.from(
      'Datum;Temp (°C);Wind;Batt\n05.06.2024 10:00;21,5;3;12\n05.06.2024 10:10;x;4;\n',
      'latin1',
    );
    await visit({ browser, server, options: paris }, async (page) => {
      await signIn(page, 'owner', '/import?device=field-3');
      await choose(page, 'logger.csv', bytes);
      await page
        .getByText(
          /Found: CSV, semicolons between fields, decimal commas, a line of names, times as day\.month\.year hour:minute/,
        )
        .waitFor();
      assert.equal(await page.getByRole('combobox', { name: 'Time zone' }).inputValue(), 'Europe/Paris');
      await page.getByLabel('Sensor for Temp (°C)').fill('TC');
      await page.getByLabel('What Batt is').selectOption('ignore');
      const samples = page.getByRole('region', { name: 'As it would be stored' });
      await samples.getByRole('cell', { name: 'TC' }).first().waitFor();
      await samples.getByText('5 Jun 2024, 10:00:00').first().waitFor();
      await page.getByText('It will create: field-3/Wind.').waitFor();
      await assertAccessible(page);
      await page.getByRole('button', { name: 'Check the whole file' }).click();
      await page.getByText('4 values can be stored.').waitFor();
      assert.deepEqual(await values('TC'), []);
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('4 values stored.').waitFor();
      await page.getByText('Sensors created: field-3/Wind').waitFor();
      await assertAccessible(page);
      assert.deepEqual(await values('TC'), [
        ['2024-06-05T08:00:00Z', 21.5],
        ['2024-06-05T08:10:00Z', 'x'],
      ]);
      assert.deepEqual(
        (await values('Wind')).map(([, value]) => value),
        [3, 4],
      );
      await page.getByRole('link', { name: 'Open field-3' }).click();
      await page.waitForURL('/devices/field-3');
    });
  });

  test('says that a file is empty', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/import');
      const file = { name: 'empty.csv', mimeType: 'text/csv', buffer: Buffer.alloc(0) };
      await page.setInputFiles('input[type=file]', file);
      await page.getByText('This file is empty.').waitFor();
    });
  });

  test('leaves out what is there already when a file is sent again', async () => {
    const text = 'time,TC\n2023-01-01T00:00:00Z,1\n2023-01-01T00:10:00Z,2\n';
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/import?device=field-3');
      for (const said of ['2 values stored.', '2 values were there already']) {
        await choose(page, 'twice.csv', text);
        await page.getByRole('button', { name: 'Import', exact: true }).click();
        await page.getByText(said).waitFor();
        await page.getByRole('button', { name: 'Another file' }).click();
      }
      const { body } = await server.call(
        'owner',
        'GET',
        '/devices/field-3/sensors/TC/values?dateFrom=2023-01-01T00:00:00Z&dateTo=2023-02-01T00:00:00Z',
      );
      assert.equal(body.length, 2);
    });
  });

  test('makes the device where there is none, and tells refused lines as text', async () => {
    const text = `time,level,note\n2024-01-01T00:00:00Z,1,${evil}\n${evil},2,ok\n2024-01-03T00:00:00Z,3,ok\n`;
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/import');
      await choose(page, `${evil.slice(0, 8)}.csv`, text);
      await page.getByText('Nothing says which device the values are of.').waitFor();
      assert.ok(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled());
      await page.getByRole('combobox', { name: 'Device' }).fill('well-9');
      await page.getByRole('button', { name: 'Create well-9' }).click();
      await page.getByRole('button', { name: 'Create well-9' }).waitFor({ state: 'detached' });
      await page.getByText('It will create: well-9/level, well-9/note.').waitFor();
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('4 values stored.').waitFor();
      const refused = page.getByRole('region', { name: 'Refused' });
      await refused.getByText('<img src=x').waitFor();
      assert.equal(await refused.getByRole('cell').first().innerText(), '3');
      assert.equal(await page.locator('img[src=x]').count(), 0);
      assert.doesNotMatch(await page.title(), /broken_in$/);
    });
  });

  test('sends a large file part by part and goes on where it broke off', async () => {
    const start = Date.UTC(2020, 0, 1);
    const rows = Array.from(
      { length: 60_000 },
      (_, n) => `${new Date(start + n * 60_000).toISOString()},${n},"a ""b"""`,
    );
    const text = `timestamp,big,ignored\n${rows.join('\n')}\n`;
    await visit({ browser, server, expects: /ERR_|Failed to load/ }, async (page) => {
      let sent = 0;
      let isBroken = false;
      await page.route('**/api/v2/import*', (route) => {
        if (route.request().url().includes('dry_run=true')) return route.continue();
        sent += 1;
        if (sent !== 2 || isBroken) return route.continue();
        isBroken = true;
        return route.abort('connectionreset');
      });
      await signIn(page, 'owner', '/import?device=field-3');
      await choose(page, 'large.csv', text);
      await page.getByLabel('What ignored is').selectOption('ignore');
      await page.getByText('As it would be stored').waitFor();
      await page.getByRole('cell', { name: 'big' }).first().waitFor();
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('It broke off.').waitFor();
      await page.getByText('The server does not answer.').waitFor();
      await page.getByRole('button', { name: 'Go on from there' }).click();
      await page.getByText('60,000 values stored.').waitFor();
      assert.equal(await page.getByRole('progressbar').getAttribute('aria-valuenow'), '100');
      assert.ok(sent >= 3, `${sent} requests`);
      const day = await server.call(
        'owner',
        'GET',
        '/devices/field-3/sensors/big/values?bucket=365d&aggregate=count,sum',
      );
      const count = day.body.reduce((sum: number, row: { count: number }) => sum + row.count, 0);
      assert.equal(count, 60_000);
    });
  });

  test('takes NDJSON, and refuses what is no device of one’s own', async () => {
    const lines = [
      { device_id: 'field-3', sensor_id: 'TC', timestamp: '2022-01-01T00:00:00Z', value: 1 },
      { device_id: 'nowhere', sensor_id: 'TC', timestamp: '2022-01-01T00:00:00Z', value: 1 },
    ];
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/import');
      await choose(page, 'moved.ndjson', lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      await page.getByText(/Found: NDJSON/).waitFor();
      await page.getByRole('region', { name: 'Refused' }).getByText('nowhere').waitFor();
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('1 value stored.').waitFor();
    });
  });

  test('is reached from the menu of a device, with that device filled in', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      await page.getByRole('button', { name: 'More about this device' }).click();
      await page.getByRole('menuitem', { name: 'Import and export' }).click();
      await page.waitForURL('/import?device=field-3');
      assert.equal(await page.getByRole('combobox', { name: 'Device' }).inputValue(), 'field-3');
    });
  });

  test('lets values out as a file in the span and format asked for', async () => {
    await visit({ browser, server, expects: /404/ }, async (page) => {
      await signIn(page, 'owner', '/import');
      await page.getByRole('button', { name: 'Export' }).click();
      await page.getByText('Name a device.').waitFor();
      await page.getByRole('combobox', { name: 'Device' }).fill('no-such');
      await page.getByRole('button', { name: 'Export' }).click();
      await page.getByRole('alert').waitFor();
      await page.getByRole('combobox', { name: 'Device' }).fill('field-3');
      await page.getByLabel('From').fill('2023-01-01T00:00');
      await page.getByLabel('To', { exact: true }).fill('2023-01-02T00:00');
      const heads = { csv: /^device_id,sensor_id,/, ndjson: /^\{"device_id":"field-3"/, parquet: /^PAR1/ };
      for (const [format, head] of Object.entries(heads)) {
        await page.getByLabel('Format').selectOption(format);
        const downloading = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Export' }).click();
        const download = await downloading;
        assert.equal(download.suggestedFilename(), `field-3.${format}`);
        const text = readFileSync(await download.path(), 'latin1');
        assert.match(text, head);
        if (format === 'ndjson') assert.equal(text.trim().split('\n').length, 2);
      }
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has no fault on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/import?device=field-3');
        await page.getByText('Drop a file here').waitFor();
        await assertAccessible(page);
        const name = 'a_very_long_name_of_a_file_that_some_logger_has_made_up_by_itself_2024-06-05_10-00-00.csv';
        await choose(
          page,
          name,
          'time,TC,an_overlong_name_of_a_column_without_any_blank_in_it_whatsoever\n2021-01-01,1,2\n',
        );
        await page.getByText('As it would be stored').waitFor();
        await page.getByRole('button', { name: 'Read it differently' }).click();
        await page.getByLabel('Between fields').waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });
  }
});
