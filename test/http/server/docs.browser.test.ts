// The interactive API reference in a browser that reaches no other host: what it shows, and the requests it sends.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, BrowserContextOptions, Locator, Page, Request } from 'playwright-core';
import { desktop, launchBrowser, screens, skip } from '../../support/dashboard.ts';
import { TestServer } from '../../support/test-server.ts';

let server: TestServer;

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

describe('in a browser, the reference', { skip }, () => {
  let browser: Browser;

  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser.close());

  for (const [screen, options] of Object.entries(screens)) {
    test(`shows every operation on ${screen}, without a complaint and without calling another host`, async () => {
      await withPage(browser, options, async (page) => {
        assert.equal(await page.title(), 'Dundun API reference');
        await page.getByText('An acknowledgement means stored.').waitFor();
        await page.getByText(`API=${server.url}/api/v2`).first().waitFor();
        if (options.isMobile === true) await page.getByRole('button', { name: /menu/i }).first().click();
        await showsEveryOperation(page);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), options.viewport?.width);
        assert.equal(await page.locator('body.dark-mode').count(), options.colorScheme === 'dark' ? 1 : 0);
      });
    });
  }

  test('sends a request as guest where no token is filled in, and stores what it was told', async () => {
    const sensors = [{ id: 'TC' }];
    await server.call('guest', 'POST', '/devices', { json: { id: 'field-3', sensors } });
    await withPage(browser, desktop, async (page) => {
      const sent = await tryOut(page, { method: 'POST', path: '/api/v2/devices/{device}/sensors/{sensor}/values' });
      assert.equal(sent.headers()['authorization'], undefined);
      assert.equal((await sent.response())?.status(), 204);
      await page.getByText('204 No Content').waitFor();
    });
    const { body } = await server.call('guest', 'GET', '/devices/field-3/sensors/TC/values');
    assert.deepEqual(
      body.map((point: { value: unknown; timestamp: string }) => [point.value, point.timestamp]),
      [[21.5, '2016-06-08T18:20:27.873Z']],
    );
  });

  test('sends the token that was filled in', async () => {
    const token = await server.token('owner');
    await withPage(browser, desktop, async (page) => {
      await page.getByPlaceholder('Token').first().fill(token);
      const sent = await tryOut(page, { method: 'GET', path: '/api/v2/auth/permissions/devices' });
      assert.equal(sent.headers()['authorization'], `Bearer ${token}`);
      assert.equal((await sent.response())?.status(), 200);
    });
  });
});

/** Opens the reference; afterwards the browser has called no other host and had nothing to complain of. */
async function withPage(browser: Browser, options: BrowserContextOptions, use: (page: Page) => Promise<void>) {
  const context = await browser.newContext(options);
  const elsewhere: string[] = [];
  const complaints: string[] = [];
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== server.url && url.protocol !== 'data:') elsewhere.push(url.href);
  });
  try {
    const page = await context.newPage();
    // A busy machine takes its time; a fault shows as what is missing, not as how long it took.
    page.setDefaultTimeout(120_000);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${server.url}/docs`);
    await use(page);
  } finally {
    await context.close();
  }
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(complaints, []);
}

/** Opens each group of the navigation and finds every operation of the document in it. */
async function showsEveryOperation(page: Page): Promise<void> {
  const { body: document } = await server.request('guest', 'GET', '/openapi.json');
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods as object));
  assert.ok(operations.length > 30);
  for (const { name } of document.tags) {
    const group = await openGroup(page, name);
    for (const { summary, tags } of operations) {
      if (tags.includes(name)) await group.getByText(summary, { exact: true }).first().waitFor();
    }
  }
}

/** Opens a group of the navigation; gives the navigation. */
async function openGroup(page: Page, name: string): Promise<Locator> {
  const navigation = page.getByRole('complementary', { name: 'Sidebar' }).filter({ visible: true });
  const group = navigation.getByRole('button', { name: `Group - ${name}`, exact: false });
  if ((await group.getAttribute('aria-expanded')) !== 'true') await group.click();
  return navigation;
}

/** Goes to an operation, opens its dialog, presses its button, and gives back the request that went out. */
async function tryOut(page: Page, operation: { readonly method: string; readonly path: string }): Promise<Request> {
  const { method, path } = operation;
  const { body: document } = await server.request('guest', 'GET', '/openapi.json');
  const { summary, tags } = document.paths[path][method.toLowerCase()];
  const navigation = await openGroup(page, tags[0]);
  await navigation.getByText(summary, { exact: true }).first().click();
  const label = new RegExp(`Test Request.*${method}.*${path.replace(/[{}]/g, '.')}\\b`, 'i');
  await page.getByRole('button', { name: label }).first().click();
  const sent = page.waitForRequest((request) => new URL(request.url()).pathname.startsWith('/api/'));
  await page.getByRole('button', { name: /^Send/ }).first().click();
  return sent;
}
