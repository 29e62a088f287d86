// Copy buttons in a browser: on plain addresses of a local network too, where browsers have no clipboard API, a key that is
// shown once can be copied; where copying is refused altogether, the text is shown selected.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
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
    browser = await launchBrowser(['--host-resolver-rules=MAP fields.example 127.0.0.1']);
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
    await page.getByRole('dialog').getByRole('button', { name: /^(Make|Create)/ }).click();
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
});
