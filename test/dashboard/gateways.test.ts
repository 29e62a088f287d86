// Gateways, projects and the map in a browser: lists, pages, forms, deleting with undo, the joint chart, clusters and
// their popups; texts of strangers are shown as text.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  inTimeToUndo,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;

/** Ids that a list of ids takes apart where they are not written for one. */
const commas = ['a,b', 'a%2Cb', 'a%252Cb'];

describe('in a browser, gateways, projects and the map', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }, { id: 'RH' }];
    const places = [
      ['field-3', 'Field 3', 16.03, -16.49],
      ['field-4', 'Field 4', 16.0301, -16.4901],
      ['well-1', 'Well', 14.7, -17.4],
    ] as const;
    for (const [id, name, latitude, longitude] of places) {
      const json = { id, name, sensors, gateway_id: 'mast', location: { latitude, longitude } };
      await server.call('owner', 'POST', '/devices', { json });
    }
    const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
    for (const device of ['field-3', 'field-4']) {
      const json = Array.from({ length: 100 }, (_, n) => ({ value: 20 + n / 10, timestamp: at((100 - n) * 10) }));
      await server.call('owner', 'POST', `/devices/${device}/sensors/TC/values`, { json });
    }
    await server.call('owner', 'POST', '/gateways', { json: { id: 'mast', name: 'North mast' } });
    await server.call('owner', 'PUT', '/gateways/mast/health');
    await server.call('guest', 'POST', '/gateways', { json: { id: 'evil', name: evil } });
    for (const id of commas) {
      await server.call('stranger', 'POST', '/gateways', { json: { id } });
      await server.call('stranger', 'POST', '/devices', { json: { id: `of-${id}`, gateway_id: id } });
    }
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('a gateway says whether it is there, what it carries and how it is connected', async () => {
    await visit({ browser, server }, async (page) => {
      // It was heard at this moment, which stays now, however long the first visit takes.
      await page.clock.setFixedTime(server.clock.now());
      await signIn(page, 'owner', '/gateways');
      const row = page.getByRole('link').filter({ hasText: 'North mast' });
      await row.getByText('3 devices').waitFor();
      await row.getByText('heard lately').waitFor();
      await row.getByText('just now').waitFor();
      await row.click();
      await page.waitForURL('/gateways/mast');
      await page.getByRole('link', { name: /Field 3/ }).waitFor();
      const lines = await page.locator('pre').allInnerTexts();
      assert.match(lines[0] ?? '', new RegExp(`-p ${server.running.ports.mqtt} [^]*-i 'mast'[^]*-u 'owner'`));
      assert.match(lines[1] ?? '', /\/api\/v2\/gateways\/mast\/health/);
      await assertAccessible(page);
    });
  });

  test('a gateway and a project are shared with their devices, on their pages and on the profile', async () => {
    const json = { id: 'onions', name: 'Onions', device_ids: ['field-3'] };
    await server.call('owner', 'POST', '/projects', { json });
    for (const [path, name, own] of [
      ['/gateways/mast', 'see the gateway', 'gateway:view'],
      ['/projects/onions', 'see the project', 'project:view'],
    ] as const) {
      const shares = async () => (await server.call('owner', 'GET', `${path}/shares`)).body;
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'owner', path);
        const section = page.getByRole('region', { name: 'Sharing' });
        await section.getByText('It is shared with nobody.').waitFor();
        await section.getByLabel('Username').fill('sharer');
        await page.keyboard.press('Escape');
        await section.getByRole('button', { name: 'Share', exact: true }).click();
        const rights = section.getByRole('group', { name: 'Rights of sharer' });
        await rights.getByText(name).waitFor();
        assert.ok(await rights.getByLabel('read values').isChecked());
        await assertAccessible(page);
        const scopes = ['device:view', 'device-data:view', own];
        assert.deepEqual(await shares(), [{ username: 'sharer', scopes, with_devices: true }]);
        for (const word of ['see the device', 'read values']) {
          const saved = page.waitForResponse((answer) => answer.request().method() === 'PUT');
          await rights.getByText(word).click();
          await saved;
        }
        assert.deepEqual(await shares(), [{ username: 'sharer', scopes: [own], with_devices: false }]);
      });
    }
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=shares');
      const byMe = page.getByRole('list', { name: 'Shared by me' });
      await byMe.getByRole('link', { name: 'North mast' }).waitFor();
      const row = byMe.getByRole('listitem').filter({ hasText: 'Onions' });
      await row.getByRole('button', { name: 'Stop sharing with sharer' }).click();
      await page.getByText('No longer shared with sharer.').waitFor();
      assert.deepEqual((await server.call('owner', 'GET', '/projects/onions/shares')).body, []);
    });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'sharer', '/profile?tab=shares');
      const withMe = page.getByRole('list', { name: 'Shared with me' });
      await withMe.getByRole('link', { name: /North mast.*Gateway/ }).click();
      await page.waitForURL('/gateways/mast');
      await page.getByText('How to connect').waitFor();
      assert.equal(await page.getByRole('region', { name: 'Sharing' }).count(), 0);
    });
    await server.call('owner', 'DELETE', '/projects/onions');
    await server.call('owner', 'DELETE', '/gateways/mast/shares/sharer');
  });

  test('a gateway with a comma in its id has its own devices', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'stranger', '/gateways');
      for (const id of commas) {
        await page.goto(`/gateways/${encodeURIComponent(id)}`);
        await page.getByRole('link', { name: `of-${id}` }).waitFor();
      }
    });
  });

  test('a gateway is declared, changed and deleted, with a way back', async () => {
    await visit({ browser, server, expects: /4(04|22)/ }, async (page) => {
      await page.clock.install({ time: server.clock.now() });
      await signIn(page, 'owner', '/gateways');
      await page.getByRole('button', { name: 'New gateway' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Id').fill('mast');
      await dialog.getByLabel('Position', { exact: true }).fill('here');
      await dialog.getByText('Two numbers').waitFor({ state: 'hidden' });
      await dialog.getByRole('button', { name: 'Declare gateway' }).click();
      await dialog.getByText('Two numbers').waitFor();
      await dialog.getByLabel('Position', { exact: true }).fill('16.03, -16.49');
      await dialog.getByRole('button', { name: 'Declare gateway' }).click();
      await dialog.locator('[id$="-error"]').getByText('There is a gateway mast already').waitFor();
      await assertAccessible(page);
      await dialog.getByLabel('Id').fill('roof');
      await dialog.getByRole('button', { name: 'Declare gateway' }).click();
      await page.waitForURL('/gateways/roof');
      await page.getByText('None yet.').waitFor();
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Roof of the school');
      await page.getByRole('dialog').getByLabel('Public').check();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('heading', { name: 'Roof of the school' }).waitFor();
      const { body } = await server.call('owner', 'GET', '/gateways/roof');
      assert.partialDeepStrictEqual(body, {
        ...{ name: 'Roof of the school', visibility: 'public' },
        location: { latitude: 16.03, longitude: -16.49 },
      });
      const row = page.getByRole('link').filter({ hasText: 'Roof of the school' });
      await inTimeToUndo(page, async () => {
        await page.getByRole('button', { name: 'Delete' }).click();
        await page.waitForURL('/gateways');
        await row.waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Undo' }).click();
      });
      await row.click();
      await page.getByRole('button', { name: 'Delete' }).click();
      const deleted = page.waitForResponse((answer) => answer.request().method() === 'DELETE' && answer.ok());
      await page.clock.runFor(9_000);
      assert.match((await deleted).url(), /\/gateways\/roof$/);
    });
    assert.equal((await server.call('owner', 'GET', '/gateways/roof')).status, 404);
  });

  for (const kind of ['gateways', 'projects'] as const) {
    test(`${kind} that were deleted elsewhere are shown no longer`, async () => {
      await server.call('owner', 'POST', `/${kind}`, { json: { id: 'gone', name: 'Gone soon' } });
      await visit({ browser, server, expects: /404/ }, async (page) => {
        await page.clock.install({ time: server.clock.now() });
        await signIn(page, 'owner', `/${kind}/gone`);
        await page.getByRole('heading', { name: 'Gone soon' }).waitFor();
        await server.call('owner', 'DELETE', `/${kind}/gone`);
        await page.clock.runFor(60_000);
        await page.getByText(/There is no \w+ gone\./).waitFor();
        assert.equal(await page.getByText('Gone soon').count(), 0);
      });
    });
  }

  test('a project is made of devices, draws them on one chart and map, and keeps what is chosen in its address', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/projects');
      await page.getByText('No project yet.').waitFor();
      await assertAccessible(page);
      await page.getByRole('button', { name: 'New project' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('Onions');
      await dialog.getByLabel('Find a device').fill('field');
      await dialog.getByRole('checkbox', { name: 'Field 3' }).check();
      await dialog.getByRole('checkbox', { name: 'Field 4' }).check();
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Create project' }).click();
      await page.waitForURL(/\/projects\/.+/);
      await page.getByText('2 devices, 0 gateways').waitFor();
      await page
        .getByRole('img', { name: 'Chart of Soil · Field 4, Soil · Field 3' })
        .or(page.getByRole('img', { name: 'Chart of Soil · Field 3, Soil · Field 4' }))
        .waitFor();
      await page.getByTitle('2 devices here; zoom in').waitFor();
      await assertAccessible(page);
      await page.getByText('30 d', { exact: true }).click();
      await page.waitForURL(/span=30d/);
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('button', { name: 'Take Field 4 away' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('1 device, 0 gateways').waitFor();
      await page.getByRole('img', { name: 'Chart of Soil · Field 3', exact: true }).waitFor();
      await page.getByRole('link', { name: 'Projects', exact: true }).first().click();
      await page.getByRole('link', { name: /Onions.*1 device/ }).waitFor();
    });
    const { body } = await server.call('owner', 'GET', '/projects');
    assert.deepEqual(body[0].device_ids, ['field-3']);
  });

  test('the map puts near devices together, and tells the last values at a press', async () => {
    await visit({ browser, server }, async (page) => {
      await page.clock.setFixedTime(server.clock.now());
      await signIn(page, 'owner', '/map');
      await page.getByText('3 devices with a position').waitFor();
      const group = page.getByTitle('2 devices here; zoom in');
      await group.waitFor();
      assert.equal(await group.innerText(), '2');
      await page.getByTitle('Well: no value yet').click();
      await page.locator('.leaflet-popup').getByText('no value yet').waitFor();
      await assertAccessible(page);
      await page.keyboard.press('Escape');
      await group.press('Enter');
      await page.getByTitle(/^Field 3: /).press('Enter');
      const popup = page.locator('.leaflet-popup');
      await popup.getByText('29.9').waitFor();
      await popup.getByText('just now').waitFor();
      await popup.getByRole('link', { name: 'Field 3' }).click();
      await page.waitForURL('/devices/field-3');
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`have no fault on ${screen}, whatever strangers wrote`, async () => {
      const json = { name: `${evil} ${'long '.repeat(30)}`, device_ids: ['field-3', 'gone'], gateway_ids: ['evil'] };
      const { text: id } = await server.call('owner', 'POST', '/projects', { json });
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/gateways');
        for (const path of ['/gateways', '/gateways/mast', '/gateways/evil', '/projects', `/projects/${id}`, '/map']) {
          await page.goto(path);
          await page
            .getByRole('main')
            .getByText(/img src|North mast|Onions|position/)
            .first()
            .waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
          assert.equal(await page.locator('img[src=x]').count(), 0);
          assert.doesNotMatch(await page.title(), /broken in$/);
        }
      });
      await server.call('owner', 'DELETE', `/projects/${id}`);
    });
  }
});

describe('in a browser, a gateway that is refused for ever', { skip }, () => {
  test('says on its page how often and why, to who may change it alone', async () => {
    const server = await TestServer.start({ DUNDUN_REFUSED_IN_ROW: '20' });
    const browser = await launchBrowser();
    try {
      await server.call('owner', 'POST', '/gateways', { json: { id: 'mast', visibility: 'public' } });
      const device = { id: 'mote', gateway_id: 'mast', visibility: 'private', sensors: [{ id: 's' }] };
      await server.call('owner', 'POST', '/devices', { json: device });
      for (let n = 0; n < 25; n++) {
        const { status } = await server.call('stranger', 'POST', '/devices/mote/sensors/s/values', {
          json: { value: n },
        });
        assert.equal(status, n < 20 ? 403 : 429);
      }
      const { refused } = (await server.call('owner', 'GET', '/gateways/mast')).body;
      assert.ok(refused.times >= 20, String(refused.times));
      const line = /^\d+ times, as stranger: /;
      for (const [screen, options] of Object.entries(screens)) {
        await visit({ browser, server, options }, async (page) => {
          await page.clock.setFixedTime(server.clock.now());
          await signIn(page, 'owner', '/gateways/mast');
          await page.getByText('Refused', { exact: true }).waitFor();
          const words = await page.getByText(line).innerText();
          assert.equal(words, `${refused.times} times, as stranger: ${refused.reason}`, screen);
          assert.match(words, /devices-data:create/);
          await assertAccessible(page);
          await assertFitsScreen(page);
          const folder = process.env['DUNDUN_TEST_PICTURES'];
          if (folder !== undefined)
            await page.screenshot({ path: `${folder}/refused-${screen.replaceAll(' ', '-')}.png` });
        });
      }
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'sharer', '/gateways/mast');
        await page.getByText('Declared').first().waitFor();
        assert.equal(await page.getByText(line).count(), 0);
        assert.equal(await page.getByText('Refused', { exact: true }).count(), 0);
      });
    } finally {
      await browser.close();
      await server.stop();
    }
  });
});
