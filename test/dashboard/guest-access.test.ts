// In a browser: the first-run page asks an admin once what guests may do; the profile shows the setting later.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { assertAccessible, launchBrowser, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const question = 'What may strangers do?';

describe('in a browser, what strangers may do', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const access = async () => (await server.call('admin', 'GET', '/settings/guest-access')).body;

  test('is no question for others than admins', async () => {
    await visit({ browser, server }, async (page) => {
      await page.goto('/devices');
      await page.getByRole('heading', { name: 'Let the first value in' }).waitFor();
      assert.equal(await page.getByText(question).count(), 0);
      await signIn(page, 'owner');
      await page.getByRole('heading', { name: 'Let the first value in' }).waitFor();
      assert.equal(await page.getByText(question).count(), 0);
      await page.goto('/profile?tab=access');
      await page.getByRole('heading', { name: 'Language and colours' }).waitFor();
      assert.equal(await page.getByText(question).count(), 0);
    });
  });

  test('is asked of an admin with what each answer means, kept, holds at once, and is asked once', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin');
      const card = page.getByRole('article', { name: question });
      await card.waitFor();
      assert.equal(await card.getByRole('radio').count(), 3);
      assert.equal(await card.getByRole('radio', { name: 'Read, send and change' }).isChecked(), true);
      await assertAccessible(page);
      const before = await page.getByText('Push a value now').boundingBox();
      await card.getByRole('radio', { name: 'Read and send' }).check();
      await card.getByRole('button', { name: 'Keep this' }).click();
      await card.getByText('Kept. You find it again in your profile').waitFor();
      assert.deepEqual(await page.getByText('Push a value now').boundingBox(), before, 'nothing moves');
      assert.deepEqual(await access(), { guest_access: 'push', fixed: false, answered: true });
      await page.reload();
      await page.getByRole('heading', { name: 'Let the first value in' }).waitFor();
      assert.equal(await page.getByText(question).count(), 0);
    });
  });

  test('is found again in the profile of an admin, and says what the server refuses', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin');
      await page.goto('/profile?tab=access');
      const part = page.getByRole('region', { name: question });
      assert.equal(await part.getByRole('radio', { name: 'Read and send' }).isChecked(), true);
      await part.getByRole('radio', { name: 'Nothing' }).check();
      await part.getByRole('button', { name: 'Keep this' }).click();
      await part.getByText('Kept.').waitFor();
      assert.equal((await access()).guest_access, 'none');
      await assertAccessible(page);
    });
    assert.equal((await server.call('guest', 'GET', '/devices')).status, 401);
  });

  test('is shown and cannot be changed where the operator has fixed it', async () => {
    await server.restart({ DUNDUN_GUEST_ACCESS: 'push' });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin');
      await page.getByRole('heading', { name: 'Let the first value in' }).waitFor();
      assert.equal(await page.getByText(question).count(), 0);
      await page.goto('/profile?tab=access');
      const part = page.getByRole('region', { name: question });
      await part.getByText('The operator has fixed this by DUNDUN_GUEST_ACCESS').waitFor();
      assert.equal(await part.getByRole('radio', { name: 'Read and send' }).isDisabled(), true);
      assert.equal(await part.getByRole('button').count(), 0);
    });
  });
});
