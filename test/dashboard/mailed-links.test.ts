// Forgotten passwords and confirmed addresses in a browser, against a mail server of the test: from the sign-in page to
// the mail, to the page that takes its link, and back in.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  launchBrowser,
  phone,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { baseUrl, confirmEmail, Mailbox } from '../support/peers/mailbox.ts';
import { addUsers, password } from '../support/people.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, with links that are mailed,', { skip }, () => {
  let mailbox: Mailbox;
  let server: TestServer;
  let browser: Browser;
  let name = '';
  let users = 0;
  const email = () => `${name}@dundun.example`;

  before(async () => {
    buildWhereStale();
    mailbox = await Mailbox.open();
    server = await TestServer.start(mailbox.settings);
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
    await mailbox.server.stop();
  });
  beforeEach(async () => {
    users += 1;
    name = `awa-${users}`;
    await addUsers(server.folder, [name], server.clock);
    server.clock.advance(31 * 60_000);
  });

  /** Opens the link of the mail that has come, on this server. */
  async function openLink(page: Page): Promise<string> {
    const { link = '', secret } = await mailbox.takeOne(server);
    assert.ok(link.startsWith(baseUrl), link);
    await page.goto(link.slice(baseUrl.length));
    return secret;
  }

  test('a forgotten password is set anew by the link of a mail, which works once', async () => {
    await confirmEmail(server, mailbox, { as: name, email: email(), password });
    await visit({ browser, server, expects: /404/ }, async (page) => {
      await page.goto('/sign-in');
      await page.getByRole('link', { name: 'Forgot your password?' }).click();
      await page.getByRole('button', { name: 'Send a link' }).click();
      await page.getByText('Say whose account it is.').waitFor();
      await assertAccessible(page);
      await page.getByLabel('Username or e-mail address').fill(email());
      await page.getByRole('button', { name: 'Send a link' }).click();
      await page.getByText('a link is on its way there').waitFor();
      const secret = await openLink(page);
      await page.getByLabel('New password').fill('short');
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByText('At least 8 characters.').first().waitFor();
      await becomes(page, 'location.href.endsWith("/new-password")');
      await assertAccessible(page);
      await page.getByLabel('New password').fill('another drum');
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByText('The new password is set.').waitFor();
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Username').fill(name);
      await page.getByLabel('Password', { exact: true }).fill('another drum');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL('**/now');
      await page.goto(`/new-password#${secret}`);
      await page.getByLabel('New password').fill('a third drum');
      await page.getByRole('button', { name: 'Set password' }).click();
      await page.getByText('This link is good no more').waitFor();
      await page.getByRole('link', { name: 'Forgot your password?' }).waitFor();
    });
    await mailbox.take(server);
  });

  test('an account that nobody has is told the same', async () => {
    await visit({ browser, server }, async (page) => {
      await page.goto('/forgotten-password');
      await page.getByLabel('Username or e-mail address').fill('nobody');
      await page.getByRole('button', { name: 'Send a link' }).click();
      await page.getByText('a link is on its way there').waitFor();
    });
    assert.deepEqual(await mailbox.take(server), []);
  });

  test('another address takes the password, is confirmed by its mail, and the one before is told', async () => {
    await confirmEmail(server, mailbox, { as: name, email: email(), password });
    await visit({ browser, server, expects: /403/ }, async (page) => {
      await signIn(page, name, '/profile');
      await page.getByText('Confirmed. A forgotten password').waitFor();
      await page.getByRole('textbox', { name: 'E-mail' }).fill(`new-${email()}`);
      await page.getByLabel('Present password').fill('wrong');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('is not the present password').waitFor();
      await assertAccessible(page);
      await page.getByLabel('Present password').fill(password);
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText(`A link was sent to new-${email()}`).first().waitFor();
      await page.getByText('Not confirmed').waitFor();
      const mails = await mailbox.take(server);
      assert.deepEqual(mails.map(({ to }) => to).sort(), [email(), `new-${email()}`]);
      const link = mails.find(({ to }) => to.startsWith('new-'))?.link ?? '';
      await page.goto(link.slice(baseUrl.length));
      await page.getByRole('button', { name: 'Confirm' }).click();
      await page.getByText('The address is confirmed.').waitFor();
      await assertAccessible(page);
      await page.getByRole('link', { name: 'Profile' }).click();
      await page.getByText('Confirmed. A forgotten password').waitFor();
    });
  });

  test('an address that is not confirmed is mailed a link again, in the language of the page', async () => {
    const { body: me } = await server.call(name, 'GET', '/users/me');
    await server.call('admin', 'PUT', `/users/${me.id}/email`, { text: email() });
    await visit({ browser, server, options: { ...phone, locale: 'fr' } }, async (page) => {
      await page.goto('/sign-in?next=%2Fprofile');
      await page.getByLabel('Nom d’utilisateur').fill(name);
      await page.getByLabel('Mot de passe', { exact: true }).fill(password);
      await page.getByRole('button', { name: 'Se connecter' }).click();
      await page.getByRole('button', { name: 'Envoyer un lien pour la confirmer' }).click();
      await page.getByText(`Un lien a été envoyé à ${email()}`).waitFor();
      await assertFitsScreen(page);
      assert.match((await mailbox.takeOne(server)).text, /Il est valable 30 minutes/);
    });
  });

  test('a link without its secret says so, and asks nobody', async () => {
    await visit({ browser, server }, async (page) => {
      for (const path of ['/new-password', '/confirm-email']) {
        await page.goto(path);
        await page.getByText('Open the whole link of the mail once more').waitFor();
        assert.equal(await page.getByRole('button').count(), 0);
      }
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`the pages of the links fit ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        for (const path of ['/forgotten-password', '/new-password#x', '/confirm-email#x']) {
          await page.goto(path);
          await page.getByRole('heading', { level: 1 }).waitFor();
          await page.getByRole('button').first().waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
          const folder = process.env['DUNDUN_TEST_PICTURES'];
          const name = `${screen}${path}`.replace(/#.*/, '').replace(/[^\w-]+/g, '-');
          if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
        }
      });
    });
  }
});

describe('in a browser, without links that are mailed,', { skip }, () => {
  test('nothing leads to them, and the page of a forgotten password says whom to ask', async () => {
    const server = await TestServer.start();
    const browser = await launchBrowser();
    try {
      await visit({ browser, server }, async (page) => {
        await page.goto('/sign-in');
        await page.getByText('Who runs this service can set a new one').waitFor();
        assert.equal(await page.getByRole('link', { name: 'Forgot your password?' }).count(), 0);
        await page.goto('/forgotten-password');
        await page.getByText('Who runs this service can set a new one').waitFor();
        assert.equal(await page.getByRole('button').count(), 0);
        await signIn(page, 'owner', '/profile');
        await page.getByRole('textbox', { name: 'E-mail' }).fill('owner@dundun.example');
        await page.getByLabel('Present password').fill(password);
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Saved.').waitFor();
        assert.equal(await page.getByText('Not confirmed').count(), 0);
      });
    } finally {
      await browser.close();
      await server.stop();
    }
  });
});
