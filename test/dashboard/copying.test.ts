// What browsers have for pages over HTTPS alone is done without on plain addresses of a local network: a key that is shown once
// can be copied there, and a file brought in; where copying is refused altogether, the text is shown selected.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { make } from '../support/api/calls.ts';
import { assertAccessible, launchBrowser, phone, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, on a plain address', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  let origin: string;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    origin = `http://fields.example:${server.running.ports.http}`;
    browser = await launchBrowser('fields.example');
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  /** Makes a key, and gives its text. */
  async function makeKey(page: Page, name: string): Promise<string> {
    await signIn(page, 'owner', '/profile');
    assert.equal(await page.evaluate('window.isSecureContext'), false);
    await page.goto('/profile?tab=keys');
    await page.getByRole('button', { name: 'New key' }).first().click();
    await page.getByLabel('What it is for').fill(name);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^(Make|Create)/ })
      .click();
    return (await page.getByRole('dialog').locator('pre').innerText()).trim();
  }

  test('a key that is shown once is copied', async () => {
    await visit({ browser, server, origin }, async (page) => {
      const key = await makeKey(page, 'logger');
      await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
      await page.getByRole('button', { name: 'Copied', exact: true }).waitFor();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /done|copied it/i })
        .last()
        .click();
      await page.getByRole('button', { name: 'New key' }).first().click();
      const find = page.getByLabel('What it is for');
      await find.focus();
      await page.keyboard.press('Control+V');
      assert.equal(await find.inputValue(), key);
    });
  });

  test('where the browser refuses, the text is shown and selected, on a phone too', async () => {
    for (const options of [undefined, phone]) {
      await visit({ browser, server, origin, ...(options && { options }) }, async (page) => {
        await page.addInitScript('document.execCommand = () => false');
        const key = await makeKey(page, 'by hand');
        await page.getByRole('dialog').getByRole('button', { name: 'Copy', exact: true }).click();
        const field = page.getByLabel(/Copy this by hand/);
        await field.waitFor();
        assert.equal(await field.inputValue(), key);
        assert.equal(await page.evaluate('document.getSelection().toString()'), key);
        await assertAccessible(page);
      });
    }
  });

  test('a file is brought in', async () => {
    const json = { id: 'plain', sensors: [{ id: 'TC' }] };
    await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
    await visit({ browser, server, origin }, async (page) => {
      await signIn(page, 'owner', '/import?device=plain');
      assert.equal(await page.evaluate('window.isSecureContext'), false);
      const buffer = Buffer.from('timestamp,TC\n2026-06-05T10:00:00Z,21.5\n');
      await page.locator('input[type=file]').setInputFiles({ name: 'log.csv', mimeType: 'text/csv', buffer });
      await page.getByRole('button', { name: 'Import', exact: true }).click();
      await page.getByText('1 value stored.').waitFor();
    });
  });

  test('codes and lines name the address that others reach, where one came by one that they do not', async () => {
    const elsewhere = await TestServer.start({ DUNDUN_BASE_URL: 'https://fields.example' });
    await make(elsewhere, {
      as: 'owner',
      call: 'POST /devices',
      json: { id: 'well', name: 'Well 1', sensors: [{ id: 's' }] },
      expect: 204,
    });
    for (const options of [undefined, phone]) {
      await visit({ browser, server: elsewhere, ...(options && { options }) }, async (page) => {
        await signIn(page, 'owner', '/devices/well');
        await page.getByRole('button', { name: 'Share' }).first().click();
        await page.getByRole('menuitem', { name: 'QR code' }).click();
        const label = page.getByRole('img', { name: 'QR code of https://fields.example/devices/well' });
        await label.waitFor();
        assert.match(await label.innerHTML(), />Well 1<.*>well</);
        const box = await label.boundingBox();
        const shape = await label.evaluate((one) => {
          const { width, height } = (one as unknown as { viewBox: { baseVal: { width: number; height: number } } })
            .viewBox.baseVal;
          return height / width;
        });
        assert.ok(box !== null && Math.abs(box.height / box.width - shape) < 0.05, JSON.stringify([box, shape]));
        const print = await page.getByRole('button', { name: 'Print' }).boundingBox();
        const { height } = page.viewportSize() ?? { height: 0 };
        assert.ok(print !== null && print.y + print.height <= height, JSON.stringify(print));
        await assertAccessible(page);
        const [file] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('button', { name: 'Save' }).click(),
        ]);
        assert.equal(file.suggestedFilename(), 'well.png');
        await page.evaluate('window.print = () => { window.printed = document.documentElement.dataset.prints; }');
        await page.getByRole('button', { name: 'Print' }).click();
        assert.equal(await page.evaluate('window.printed'), 'label');
        // One label, on a roll of small ones too.
        const printed = (await page.pdf({ width: '62mm', height: '40mm' })).toString('latin1');
        assert.equal(printed.match(/\/Type\s*\/Page\b/g)?.length, 1);
      });
    }
    await elsewhere.stop();
  });
});
