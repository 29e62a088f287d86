// The first page in a browser: what is wrong now, what one can do about it, the number on the bell and in the title, and the
// calm page where all is well.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
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
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'">`;

describe('in a browser, the first page', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }];
    for (const [as, id, name] of [
      ['owner', 'field-3', 'Field 3'],
      ['owner', 'evil', evil],
      ['stranger', 'other', 'Other'],
    ] as const) {
      const location = { latitude: 16.03, longitude: -16.49 };
      await server.call(as, 'POST', '/devices', { json: { id, name, gateway_id: 'mast', location, sensors } });
      const condition = { devices: [id], sensors: ['TC'], expression: 'TC>40' };
      const action = { usernames: [as], channels: ['none'], message: '{TC}' };
      await server.call(as, 'POST', '/notifications', { json: { description: 'Too hot', condition, action } });
    }
    await server.call('owner', 'PUT', '/devices/field-3/shares/sharer', {
      json: { scopes: ['devices:view', 'device-data:view'] },
    });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const push = async (value: number, device = 'field-3') => {
    await server.call('owner', 'POST', `/devices/${device}/sensors/TC/values`, { json: { value } });
    await server.running.idle();
  };
  const well = async () => {
    for (const device of ['field-3', 'evil']) await push(1, device);
    server.clock.advance(3_600_000);
  };
  const titled = (page: Page, title: string) => becomes(page, `document.title === ${JSON.stringify(title)}`);

  test('is calm where all is well, with the day in five lines', async () => {
    await push(1);
    for (const [screen, options] of Object.entries(screens))
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/now');
        await page.getByText('All is well.').waitFor();
        await page.getByText('datapoint was pushed by you').waitFor();
        await becomes(page, 'document.querySelectorAll("dd").length === 5');
        await assertFitsScreen(page);
        await assertAccessible(page);
        assert.equal(await page.title(), 'Now · Dundun', screen);
      });
  });

  test('is where one comes to who has signed in, and not for guests', async () => {
    await visit({ browser, server }, async (page) => {
      await page.goto('/now');
      await page.waitForURL(/\/sign-in/);
      await signIn(page, 'owner', '/devices');
      await page.goto('/');
      await page.waitForURL('/now');
    });
  });

  test('says what is wrong as it begins and ends, with value, threshold and place; text of strangers is text', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/now');
      await page.getByText('All is well.').waitFor();
      await push(41.5);
      await page.getByText('Soil of Field 3: 41.5 °C').waitFor();
      await page.getByText('threshold 40 (TC>40)').waitFor();
      await page.getByTitle('Field 3 on the map').getByText('16.03° -16.49°').waitFor();
      await page.getByText('1 alarm is open').waitFor();
      await titled(page, '(1) Now · Dundun');
      await page.getByRole('link', { name: 'Now 1 alarm nobody has seen to' }).waitFor();
      await push(50, 'evil');
      await page.getByText(`Soil of ${evil}: 50 °C`).waitFor();
      await titled(page, '(2) Now · Dundun');
      await page.getByRole('link', { name: 'mast' }).first().waitFor();
      await page.getByTitle('Field 3 on the map').click();
      await page.waitForURL(/map\?find=field-3/);
      await page.locator('.leaflet-marker-icon[title^="Field 3"]').waitFor();
      await page.goBack();
      for (const device of ['field-3', 'evil']) await push(1, device);
      await page.getByText('All is well.').waitFor();
      await titled(page, 'Now · Dundun');
    });
    await well();
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has an alarm acknowledged with a note, assigned and snoozed, on ${screen}`, async () => {
      await push(41.5);
      await visit({ browser, server, options, expects: /400/ }, async (page) => {
        await signIn(page, 'owner', '/now');
        await page.getByRole('button', { name: 'Acknowledge' }).click();
        const dialog = page.getByRole('dialog');
        await dialog.getByLabel('Note').fill('The pump is ordered');
        await assertAccessible(page);
        await dialog.getByRole('button', { name: 'Acknowledge' }).click();
        await page.getByText('owner is on it: The pump is ordered').waitFor();
        await titled(page, 'Now · Dundun');
        await page.getByRole('button', { name: /^More about/ }).click();
        await page.getByRole('menuitem', { name: 'Assign to somebody' }).click();
        const assign = async (name: string) => {
          await dialog.getByLabel('Name').fill(name);
          await page.getByRole('option', { name }).click();
          await dialog.getByRole('button', { name: 'Assign' }).click();
        };
        await assign('stranger');
        await dialog.getByText('must be the name of a user who may see this alarm').waitFor();
        await assign('sharer');
        await page.getByText('For sharer').waitFor();
        await assertFitsScreen(page);
        await assertAccessible(page);
        await page.getByRole('button', { name: /^More about/ }).click();
        await page.getByRole('menuitem', { name: 'For 4 hours' }).click();
        // What is put aside is not over.
        await page.getByText('No alarm is open.').waitFor();
        assert.equal(await page.getByText('All is well.').count(), 0);
        await page.getByText(/· Quiet until /).waitFor();
        await assertFitsScreen(page);
        await assertAccessible(page);
        await page.getByRole('link', { name: '1 alarm is snoozed' }).click();
        await page.waitForURL(/view=snoozed/);
        await page.getByText('Quiet until').waitFor();
        await assertFitsScreen(page);
      });
      await well();
    });
  }

  test('shows who may only look no buttons', async () => {
    await push(41.5);
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'sharer', '/now');
      await page.getByText('Soil of Field 3: 41.5 °C').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Acknowledge' }).count(), 0);
    });
    await well();
  });

  test('leads on: a device shows its open alarms and their history, the list of notifications what holds now', async () => {
    await push(41.5);
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3?tab=alarms');
      await page.getByText('Soil of Field 3: 41.5 °C').first().waitFor();
      await page
        .getByText(/, ended/)
        .first()
        .waitFor();
      await assertAccessible(page);
      await page.goto('/notifications');
      await page.getByText('Holds now').first().waitFor();
      await page.goto('/now?view=over');
      await page
        .getByText(/, ended/)
        .first()
        .waitFor();
      await assertFitsScreen(page);
    });
    await well();
  });

  test('is not calm while a device has been silent for long, though no alarm says so', async () => {
    // Heard once: it has no habit, so that no alarm says that it is silent.
    await server.call('owner', 'POST', '/devices', { json: { id: 'dead', name: 'Old well', sensors: [{ id: 'TC' }] } });
    await server.call('owner', 'PUT', '/devices/dead/shares/sharer', {
      json: { scopes: ['devices:view', 'device-data:view'] },
    });
    await push(1, 'dead');
    server.clock.advance(9 * 24 * 3_600_000);
    for (const device of ['field-3', 'evil', 'field-3']) await push(1, device);
    for (const [screen, options] of Object.entries(screens))
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/now');
        await page.getByText('No alarm is open.').waitFor();
        assert.equal(await page.getByText('All is well.').count(), 0, screen);
        await assertFitsScreen(page);
        await assertAccessible(page);
        await page.getByRole('link', { name: '1 device is silent beyond its habit' }).click();
        await page.waitForURL(/devices\?.*silent=true/);
        await page.getByRole('link').filter({ hasText: 'Old well' }).waitFor();
      });
    // For whom it is shared with as well.
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'sharer', '/now');
      await page.getByRole('link', { name: '1 device is silent beyond its habit' }).click();
      await page.waitForURL(/shared=true/);
    });
    // Nor is it hidden behind alarms of others.
    await push(41.5);
    for (const [screen, options] of Object.entries(screens))
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/now');
        const list = page.getByRole('list', { name: 'Alarms' });
        await list.getByText('Soil of Field 3: 41.5 °C').waitFor();
        await list.getByRole('link', { name: '1 device is silent beyond its habit' }).waitFor();
        await list.getByRole('link', { name: 'Old well' }).waitFor();
        assert.equal(await list.getByRole('listitem').count(), 2, screen);
        await assertFitsScreen(page);
        await assertAccessible(page);
        await page.getByText('Over', { exact: true }).click();
        await page.waitForURL(/view=over/);
        await page
          .getByText(/, ended/)
          .first()
          .waitFor();
        assert.equal(await page.getByText('Old well').count(), 0, screen);
      });
    await push(1);
    await push(1, 'dead');
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/now');
      await page.getByText('All is well.').waitFor();
    });
  });
});

test('in a browser, a notification that reaches nobody says so, and channels that cannot send are not offered', {
  skip,
}, async () => {
  buildWhereStale();
  const server = await TestServer.start({ DUNDUN_TELEGRAM_TOKEN: '1:x' });
  const browser = await launchBrowser();
  try {
    await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
    const condition = { devices: ['d'], sensors: ['s'], expression: 's>1' };
    for (const channel of ['email', 'telegram']) {
      const action = { usernames: ['owner'], channels: [channel], message: 'x' };
      await server.call('owner', 'POST', '/notifications', { json: { description: channel, condition, action } });
    }
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/notifications');
      await page.getByText(/Reaches nobody: no provider is set up for e-?mail/i).waitFor();
      await page.getByText(/Reaches nobody: your profile has no address for Telegram/i).waitFor();
      await assertAccessible(page);
      await page.goto('/notifications/new?device=d&sensor=s');
      await page.getByRole('button', { name: /^Ways of telling/ }).click();
      // Nothing can send: it is recorded, and what is missing is said.
      const email = page.getByRole('checkbox', { name: 'e-mail' });
      assert.equal(await email.isChecked(), false);
      assert.equal(await email.isDisabled(), true);
      assert.equal(await page.getByRole('checkbox', { name: 'record only' }).isChecked(), true);
      assert.equal(await page.getByRole('checkbox', { name: /webhook/i }).isDisabled(), true);
      await page.getByText('Who runs this service can set one up.').first().waitFor();
      await page.keyboard.press('Escape');
      await page.getByText(/^Nothing can be sent yet/).waitFor();
      await assertAccessible(page);
      // What is chosen already can be taken away, and then not be chosen again.
      await page.goto('/notifications');
      await page.getByRole('link', { name: 'email' }).click();
      await page.getByRole('button', { name: /^Ways of telling/ }).click();
      await email.uncheck();
      assert.equal(await email.isDisabled(), true);
    });
  } finally {
    await browser.close();
    await server.stop();
  }
});

test('in a browser, a notification says what became of what it did: recorded, not delivered, set', {
  skip,
}, async () => {
  buildWhereStale();
  const server = await TestServer.start();
  const browser = await launchBrowser();
  try {
    const actuators = [{ id: 'valve' }];
    await server.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }], actuators } });
    const condition = { devices: ['d'], sensors: ['s'], expression: 's>1' };
    const setting = { type: 'ActuationAction', value: { device_id: 'd', actuator_id: 'valve', actuator_value: 1 } };
    const ids: Record<string, string> = {};
    for (const [description, action] of Object.entries({
      Recorded: { usernames: ['owner'], channels: ['none'], message: 'x' },
      Mailed: { usernames: ['owner'], channels: ['email'], message: 'x' },
      Set: setting,
    }))
      ids[description] = (
        await server.call('owner', 'POST', '/notifications', { json: { description, condition, action } })
      ).text;
    await server.call('owner', 'POST', '/devices/d/sensors/s/values', { json: { value: 2 } });
    await server.running.idle();
    const become = { Recorded: 'recorded only', Mailed: 'not delivered', Set: 'actuator set' };
    for (const options of Object.values(screens))
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/notifications');
        for (const [description, words] of Object.entries(become))
          await page
            .getByRole('listitem')
            .filter({ hasText: description })
            .getByText(words, { exact: true })
            .filter({ visible: true })
            .waitFor();
        assert.equal(await page.getByText('Last sent').count(), 0);
        await assertFitsScreen(page);
        await assertAccessible(page);
      });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/notifications?view=outbox');
      await page.getByText('recorded', { exact: true }).waitFor();
      for (const [description, words] of Object.entries(become)) {
        await page.goto(`/notifications/${ids[description]}`);
        await page.getByText(words, { exact: true }).first().waitFor();
      }
      // What is recorded only is no message that was sent.
      await server.call('owner', 'POST', '/devices/d/sensors/s/values', { json: { value: 0 } });
      await server.running.idle();
      await page.goto('/now');
      await page.getByText('messages were sent').waitFor();
    });
  } finally {
    await browser.close();
    await server.stop();
  }
});
