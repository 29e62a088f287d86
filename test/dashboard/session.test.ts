// Signing in and out in a browser, staying signed in over a reload, using the dashboard as guest, creating an account.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { limits } from '../../src/config/limits.ts';
import { assertAccessible, launchBrowser, signInByPage, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { password } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, the dashboard', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start({ DUNDUN_SELF_REGISTRATION: 'on' });
    browser = await launchBrowser();
    await server.call('owner', 'POST', '/devices', { json: { id: 'mine', name: 'Mine alone' } });
    await server.call('guest', 'POST', '/devices', { json: { id: 'open', name: 'For all' } });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('shows a guest what is public and nothing else', async () => {
    await visit({ browser, server }, async (page) => {
      await page.goto('/');
      await page.getByText('For all').waitFor();
      assert.equal(await page.getByText('Mine alone').count(), 0);
      assert.equal(await page.getByRole('link', { name: 'Profile' }).count(), 0);
    });
  });

  test('leads a guest who may not see a page to the sign-in, and back to it', async () => {
    await visit({ browser, server, expects: /403/ }, async (page) => {
      await page.goto('/devices/mine');
      await page.getByRole('alert').getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Username').fill('owner');
      await page.getByLabel('Password', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Mine alone' }).waitFor();
    });
  });

  test('signs in, stays signed in over a reload, and signs out everywhere', async () => {
    await visit({ browser, server }, async (page) => {
      await signInByPage(page, 'owner');
      await page.getByText('Mine alone').waitFor();
      const kept = await page.evaluate(
        'JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie])',
      );
      assert.doesNotMatch(String(kept), /[\w-]+\.[\w-]+\.[\w-]+|dundun_renewal/, 'no token where a script finds it');
      // Nothing is asked with the old token meanwhile.
      await page.goto('about:blank');
      server.clock.advance(limits.tokenLifetimeS * 1000);
      await page.goto('/devices');
      await page.getByText('Mine alone').waitFor();
      await page.getByRole('button', { name: 'owner', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
      await page.getByRole('link', { name: 'Sign in' }).waitFor();
      await page.getByText('Mine alone').waitFor({ state: 'detached' });
      await page.reload();
      await page.getByText('For all').waitFor();
      assert.equal(await page.getByText('Mine alone').count(), 0);
    });
  });

  test('renews the token while it is open, without a reload', async () => {
    await visit({ browser, server }, async (page) => {
      await page.clock.install({ time: server.clock.now() });
      await signInByPage(page, 'owner');
      await page.getByText('Mine alone').waitFor();
      const renewed = page.waitForResponse((answer) => answer.request().method() === 'PUT' && answer.ok());
      await page.clock.runFor(limits.tokenLifetimeS * 1000);
      assert.match((await renewed).url(), /\/auth\/session$/);
    });
  });

  test('says that a login is wrong, and keeps what was typed', async () => {
    await visit({ browser, server, expects: /401/ }, async (page) => {
      await page.goto('/sign-in');
      await assertAccessible(page);
      await page.getByLabel('Username').fill('owner');
      await page.getByLabel('Password', { exact: true }).fill('guessed');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('alert').getByText('The username or the password is wrong.').waitFor();
      assert.equal(await page.getByLabel('Username').inputValue(), 'owner');
    });
  });

  test('leads to no other site after signing in', async () => {
    for (const next of ['//evil.example', 'https://evil.example', '/\\evil.example', 'javascript:alert(1)']) {
      await visit({ browser, server }, async (page) => {
        await page.goto(`/sign-in?next=${encodeURIComponent(next)}`);
        await page.getByLabel('Username').fill('owner');
        await page.getByLabel('Password', { exact: true }).fill(password);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL(`${server.url}/now`);
      });
    }
  });

  test('makes an account, and says beside the field what the server refuses', async () => {
    await visit({ browser, server, expects: /4(00|22)/ }, async (page) => {
      await page.goto('/register');
      await assertAccessible(page);
      await page.getByLabel('Password').first().fill('short');
      await page.getByRole('button', { name: 'Make account' }).click();
      await page.getByText('Choose a username.').waitFor();
      await page.getByLabel('Username').fill('owner');
      await page.getByLabel('Password').first().fill('long enough drum');
      await page.getByRole('button', { name: 'More fields' }).click();
      await page.getByRole('textbox', { name: /^Phone/ }).fill('not a number');
      await page.getByRole('button', { name: 'Make account' }).click();
      await page.locator('[id$="-error"]').waitFor();
      assert.equal(await page.getByRole('textbox', { name: /^Phone/ }).getAttribute('aria-invalid'), 'true');
      await page.getByRole('textbox', { name: /^Phone/ }).fill('');
      await page.getByRole('button', { name: 'Make account' }).click();
      await page.locator('[id$="-error"]').getByText('There is a user owner already.').waitFor();
      assert.equal(await page.getByLabel('Username').getAttribute('aria-invalid'), 'true');
      await page.getByLabel('Username').fill('awa');
      await page.getByLabel('First name').fill('Awa');
      await page.getByRole('textbox', { name: /^Address/ }).fill('12 rue du Fleuve, Saint-Louis');
      await page.getByRole('textbox', { name: /^Facebook/ }).fill('awa.ndiaye');
      await page.getByRole('textbox', { name: /^X \(Twitter\)/ }).fill('awa_ndiaye');
      await page.getByRole('button', { name: 'Make account' }).click();
      await page.getByRole('button', { name: 'awa' }).waitFor();
    });
    const { body } = await server.call('admin', 'GET', '/users?username=awa');
    assert.deepEqual(
      [body[0].firstName, body[0].address, body[0].facebook, body[0].twitter],
      ['Awa', ['12 rue du Fleuve, Saint-Louis'], ['awa.ndiaye'], ['awa_ndiaye']],
    );
  });
});
