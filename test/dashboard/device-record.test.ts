// A device's record in a browser: the dialog with its fields, recent events, and its state, which the list and the map
// show alike.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  followed,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, the record of a device', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C', retention_days: 30 }];
    const actuators = [{ id: 'valve', value_type: 'bool', value: false }];
    const json = { id: 'field-3', name: 'Field 3', sensors, actuators, gateway_id: 'mast', domain: 'onions' };
    await server.call('owner', 'POST', '/devices', { json });
    await server.call('owner', 'POST', '/devices', { json: { id: 'pump', domain: 'irrigation' } });
    await server.call('owner', 'POST', '/gateways', { json: { id: 'mast-2' } });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const read = async (path: string) => (await server.call('owner', 'GET', path)).body;
  const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
  const openDialog = async (page: Page) => {
    await page.getByRole('button', { name: 'More about this device' }).click();
    await page.getByRole('menuitem', { name: 'Edit device' }).click();
    await page.getByRole('menu').waitFor({ state: 'detached' });
    return page.getByRole('dialog');
  };

  test('is changed field by field, and fields are taken away', async () => {
    await visit({ browser, server, expects: /400/ }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      const dialog = await openDialog(page);
      await dialog.getByLabel('Domain').fill('irri');
      await page.getByRole('option', { name: 'irrigation' }).click();
      await dialog.getByLabel('Gateway', { exact: true }).fill('mast 2');
      await dialog.getByLabel('Notes').fill('Key under the stone.\nBattery of May.');
      await dialog.getByRole('button', { name: 'More fields' }).click();
      await dialog.getByLabel('Further data, as JSON').fill('{"crop": ');
      // Said once the field is left, which moves the buttons.
      await dialog.getByRole('textbox', { name: 'Name', exact: true }).focus();
      await dialog.getByText('This is no JSON object').waitFor();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('An id has no spaces').waitFor();
      await dialog.getByLabel('Gateway', { exact: true }).fill('mast');
      await page.getByRole('option', { name: 'mast-2' }).click();
      await dialog.getByLabel('Further data, as JSON').fill('{"crop": "onion"}');
      await dialog.getByLabel('It is in its place').check();
      await dialog.getByLabel('Values are kept for').fill('99999999');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText(/whole number of days/).waitFor();
      assert.equal((await read('/devices/field-3')).domain, 'irrigation', 'what came before the refusal is kept');
      await dialog.getByLabel('Values are kept for').fill('90');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      const { gateway_id, meta, deployed, retention_days } = await read('/devices/field-3');
      assert.deepEqual(
        { gateway_id, meta, deployed, retention_days },
        {
          gateway_id: 'mast-2',
          meta: { crop: 'onion', notes: 'Key under the stone.\nBattery of May.' },
          deployed: true,
          retention_days: 90,
        },
      );
      await page.getByText('90 days').waitFor();
      await page.locator('dd').getByText('Key under the stone.').waitFor();
      await openDialog(page);
      for (const label of ['Notes', 'Further data, as JSON', 'Values are kept for'])
        await dialog.getByLabel(label).fill('');
      await dialog.getByLabel('Gateway', { exact: true }).fill('');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      const bare = await read('/devices/field-3');
      for (const field of ['gateway_id', 'meta', 'retention_days']) assert.equal(bare[field], undefined, field);
    });
  });

  test('lets a sensor follow its device again in how long values are kept', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3/sensors/TC');
      await page.getByRole('button', { name: 'More about this sensor' }).click();
      await page.getByRole('menuitem', { name: 'Edit sensor' }).click();
      await page.getByLabel('Keep datapoints for').fill('');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      assert.equal((await read('/devices/field-3')).sensors[0].retention_days, undefined);
    });
  });

  test('is handed over by its owner alone', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'gift', name: 'Gift' } });
    await server.call('owner', 'PUT', '/devices/gift/shares/sharer', {
      json: { scopes: ['device:view', 'device:update'] },
    });
    await visit({ browser, server, expects: /404|403/ }, async (page) => {
      await signIn(page, 'sharer', '/devices/gift');
      const dialog = await openDialog(page);
      await dialog.getByLabel('Domain').waitFor();
      assert.equal(await dialog.getByLabel('Owner').count(), 0);
    });
    await visit({ browser, server, expects: /404|403/ }, async (page) => {
      await signIn(page, 'owner', '/devices/gift');
      const dialog = await openDialog(page);
      await dialog.getByLabel('Owner').fill('nobody-here');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText(/nobody-here/).waitFor();
      await dialog.getByLabel('Owner').fill('stranger');
      await page.getByRole('option', { name: 'stranger' }).click();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByText('You need the right devices:view').waitFor();
    });
    assert.equal((await server.call('stranger', 'GET', '/devices/gift')).body.owner, 'stranger');
  });

  test('is shown no longer where it was deleted elsewhere', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'gone', name: 'Gone soon' } });
    await visit({ browser, server, expects: /404/ }, async (page) => {
      const live = followed(page, 'gone');
      await signIn(page, 'owner', '/devices/gone');
      await page.getByRole('heading', { name: 'Gone soon' }).waitFor();
      await live;
      await server.call('owner', 'DELETE', '/devices/gone');
      await page.getByText('There is no device gone.').waitFor();
      assert.equal(await page.getByText('Gone soon').count(), 0);
    });
  });

  test('tells in one list what has happened around it', async () => {
    const condition = { devices: ['field-3'], sensors: ['TC'], expression: 'TC<2' };
    const action = { usernames: ['owner'], channels: ['none'], message: 'It is {TC}' };
    await server.call('owner', 'POST', '/notifications', { json: { description: 'Frost', condition, action } });
    await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: { value: 1.5 } });
    await server.running.idle();
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'field-3');
      await signIn(page, 'owner', '/devices/field-3?tab=activity');
      const list = page.getByRole('list', { name: 'Activity' });
      await list.getByText('Soil: 1.5 °C').waitFor();
      await list.getByText('Frost').waitFor();
      await list.getByText('It is 1.5 → owner').waitFor();
      assert.match(await list.getByRole('listitem').last().innerText(), /The device was created/);
      await live;
      await server.call('owner', 'PUT', '/devices/field-3/actuators/valve/value', { json: true });
      await list.getByText('valve was set to on').waitFor();
      assert.match(await list.getByRole('listitem').first().innerText(), /valve was set to on/);
    });
  });

  test('has the same state in the list and on the map, by how often it is usually heard', async () => {
    const place = { latitude: 16, longitude: -16 };
    const pushEvery = async (id: string, minutes: number, times: number) => {
      for (let n = 0; n < times; n++) {
        // Measured long before: when it is received counts.
        const json = { value: n, timestamp: at(60 * 24 * 7) };
        await server.call('owner', 'POST', `/devices/${id}/sensors/TC/values`, { json });
        server.clock.advance(minutes * 60_000);
      }
    };
    for (const [id, latitude] of [
      ['quick', 16],
      ['slow', 30],
    ] as const)
      await server.call('owner', 'POST', '/devices', {
        json: { id, sensors: [{ id: 'TC' }], location: { ...place, latitude } },
      });
    // Of six hours, not heard for nearly seven; and of a minute, not heard for half an hour.
    await pushEvery('slow', 360, 6);
    await pushEvery('quick', 1, 6);
    server.clock.advance(30 * 60_000);
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices');
      const rowOf = (id: string) => page.getByRole('link').filter({ hasText: id });
      await rowOf('quick').getByRole('img', { name: 'silent' }).waitFor();
      await rowOf('slow').getByRole('img', { name: 'fresh' }).waitFor();
      await page.goto('/map');
      await page.getByTitle('quick: silent').waitFor();
      await page.getByTitle('slow: fresh').waitFor();
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has no fault on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/devices/field-3?tab=activity');
        await page.getByText('The device was created').waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
        const dialog = await openDialog(page);
        await dialog.getByLabel('Owner').waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });
  }
});
