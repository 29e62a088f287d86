// The list of devices in a browser: rows, filters in the address, keyboard, search, creating a device, the first run;
// texts of strangers are shown as text.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { assertAccessible, becomes, launchBrowser, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const evil = `<img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;

describe('in a browser, the list of devices', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }, { id: 'RH' }, { id: 'note' }];
    for (const [as, json] of [
      ['owner', { id: 'field-3', name: 'Field 3', sensors, gateway_id: 'mast' }],
      ['owner', { id: 'well-1', name: 'Well', sensors: [{ id: 'level', unit: 'm' }] }],
      ['guest', { id: 'evil', name: evil, sensors: [{ id: 'note', name: evil, unit: evil }] }],
      ['stranger', { id: 'theirs', name: 'Shared by another' }],
    ] as const) {
      await server.call(as, 'POST', '/devices', { json });
      server.clock.advance(1_000);
    }
    await server.call('stranger', 'PUT', '/devices/theirs/shares/owner', { json: { scopes: ['device:view'] } });
    const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
    const values = Array.from({ length: 140 }, (_, n) => ({ value: 20 + n / 100, timestamp: at((140 - n) * 10) }));
    await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: values });
    await server.call('guest', 'POST', '/devices/evil/sensors/note/values', { json: { value: evil } });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('says of a device how it is, what it read last and when, and opens it on one click', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      const row = page.getByRole('link').filter({ hasText: 'Field 3' });
      await row.getByRole('img', { name: 'fresh', exact: true }).waitFor();
      const text = await row.innerText();
      for (const said of ['field-3', 'Soil', '21.39', '°C', '+2', 'mast', 'owner', 'just now']) {
        assert.ok(text.includes(said), `${said} is in ${text}`);
      }
      assert.match(String(await row.locator('svg path').last().getAttribute('d')), /^M[\d. L]+/);
      const silent = page.getByRole('link').filter({ hasText: 'Well' });
      assert.equal(await silent.getByRole('img', { name: 'no value yet' }).count(), 1);
      await row.click();
      await page.waitForURL('/devices/field-3');
      await page.getByRole('heading', { name: 'Field 3' }).waitFor();
    });
  });

  test('is filtered, searched and put in order by the address, and by what is pressed', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      const list = page.getByRole('list', { name: 'List of devices' });
      const names = async (expected: readonly string[]) => {
        await page
          .getByText(expected.length === 1 ? '1 device' : `${expected.length} devices`, { exact: true })
          .waitFor();
        // What was shown before stays until the answer is there.
        await list
          .getByRole('link')
          .first()
          .filter({ hasText: expected[0] ?? '' })
          .waitFor();
        const shown = await list.getByRole('link').locator('span > span > span:first-child').allInnerTexts();
        assert.deepEqual(
          shown.filter((name) => expected.includes(name)),
          expected,
        );
      };
      await page.getByText('Shared with me').click();
      await page.waitForURL('/devices?shared=true');
      await names(['Shared by another']);
      await page.getByText('Shared with me').click();
      await page.getByText('Mine', { exact: true }).click();
      await names(['Well', 'Field 3']);
      await page.getByLabel('Order').selectOption('name');
      await page.waitForURL(/sort=name/);
      await names(['Field 3', 'Well']);
      await page.reload();
      await names(['Field 3', 'Well']);
      await page.getByRole('searchbox').fill('WEL');
      await names(['Well']);
      await page.getByRole('searchbox').fill('nothing at all');
      await page.getByText('No device fits.').waitFor();
      await page.getByRole('button', { name: 'Show all devices' }).click();
      await page.getByText('4 devices').waitFor();
    });
  });

  test('is filtered by domain, owner and gateway, and shown as a map of what fits', async () => {
    const place = { latitude: 16, longitude: -16 };
    const json = { id: 'placed', name: 'Placed', domain: 'rain', gateway_id: 'mast-9', location: place };
    await server.call('owner', 'POST', '/devices', { json });
    await server.call('owner', 'POST', '/gateways', { json: { id: 'mast-9' } });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      await page.getByText('Field 3').waitFor();
      await page.getByRole('button', { name: 'Domain' }).click();
      await page.getByRole('combobox', { name: 'Domain' }).fill('rain');
      await assertAccessible(page);
      await page.keyboard.press('Enter');
      await page.waitForURL('/devices?domain=rain');
      await page.getByText('1 device', { exact: true }).waitFor();
      await page.getByText('Domain rain').click();
      await page.getByText('Field 3').waitFor();
      await page.getByRole('button', { name: 'Owner', exact: true }).click();
      await page.getByRole('combobox', { name: 'Owner' }).fill('guest');
      await page.keyboard.press('Enter');
      await page.waitForURL('/devices?owner=guest');
      await page.getByText('Owner guest').click();
      await page.getByText('Field 3').waitFor();
      await page.getByRole('button', { name: 'Gateway' }).click();
      await page.getByRole('option', { name: 'mast-9' }).click();
      await page.getByRole('button', { name: 'Filter', exact: true }).click();
      await page.waitForURL('/devices?gateway=mast-9');
      await page.getByRole('radiogroup', { name: 'View' }).getByText('Map').click();
      await page.waitForURL(/view=map/);
      await page.getByTitle('Placed: no value yet').waitFor();
      await page.getByText('1 device with a position').waitFor();
      await assertAccessible(page);
    });
    await server.call('owner', 'DELETE', '/devices/placed');
  });

  test('goes from row to row by the arrows', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices?owner=owner&sort=name');
      await page.getByRole('link').filter({ hasText: 'Field 3' }).focus();
      await page.keyboard.press('ArrowDown');
      assert.match(String(await page.evaluate('document.activeElement.innerText')), /Well/);
      await page.keyboard.press('Enter');
      await page.waitForURL('/devices/well-1');
    });
  });

  test('is left by the search, which finds devices, sensors and pages by keys alone', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      await page.getByText('Field 3').waitFor();
      await page.keyboard.press('/');
      await page.getByRole('combobox', { name: 'Search' }).fill('soil');
      await page.getByRole('option', { name: /Soil.*Field 3/ }).waitFor();
      await assertAccessible(page);
      await page.keyboard.press('Enter');
      await page.waitForURL('/devices/field-3/sensors/TC');
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).fill('gatew');
      await page.getByRole('option', { name: /Gateways/ }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL('/gateways');
    });
  });

  test('loses no letter that is typed right after the key of the search', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      await page.getByText('Field 3').waitFor();
      // The dialog comes late, as over a weak link.
      let letGo = () => {};
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      await page.route(/search-dialog.*\.js/, async (route) => {
        await held;
        await route.continue();
      });
      await page.keyboard.type('/soix');
      await page.keyboard.press('Backspace');
      letGo();
      const find = page.getByRole('combobox', { name: 'Search' });
      await find.waitFor();
      await becomes(page, `document.activeElement?.getAttribute('role') === 'combobox'`);
      await page.keyboard.type('l');
      assert.equal(await find.inputValue(), 'soil');
      await page.getByRole('option', { name: /Soil.*Field 3/ }).waitFor();
    });
  });

  test('takes a new device, and says beside the field that an id is taken', async () => {
    await visit({ browser, server, expects: /422/ }, async (page) => {
      await signIn(page, 'owner');
      await page.getByRole('button', { name: 'New device' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Id').fill('no spaces');
      await dialog.getByLabel('Name').fill('New one');
      await dialog.getByText('without spaces').waitFor();
      await dialog.getByLabel('Id').fill('field-3');
      await dialog.getByLabel('Sensors').fill('TC °C\nrain mm');
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Create device' }).click();
      await dialog.getByText('There is a device field-3 already.').waitFor();
      assert.equal(await dialog.getByLabel('Name').inputValue(), 'New one');
      await dialog.getByLabel('Id').fill('field-4');
      await dialog.getByRole('button', { name: 'Create device' }).click();
      await page.waitForURL('/devices/field-4');
      await page.getByRole('region', { name: 'Sensors' }).getByText('rain').waitFor();
    });
  });

  test('draws a part of the page whose words come in the very moment they are asked for', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      await page.getByText('Field 3').waitFor();
      // React goes on drawing by messages to itself. Each waits until the file of the words has come three times over, and so
      // whatever the page asked for at the same time.
      const [file = ''] = globSync('dashboard/dist/assets/pages-en-*.js', { cwd: root });
      const words = `import('/assets/${basename(file)}')`;
      await page.evaluate(`{
        const { postMessage } = MessagePort.prototype;
        MessagePort.prototype.postMessage = async function (...given) {
          for (let n = 0; n < 3; n += 1) await ${words};
          postMessage.apply(this, given);
        };
      }`);
      await page.getByRole('button', { name: 'New device' }).click();
      await page.getByRole('dialog').getByLabel('Sensors').waitFor();
    });
  });

  test('shows what a stranger wrote as text', async () => {
    await visit({ browser, server }, async (page) => {
      for (const path of ['/devices', '/devices/evil', '/devices/evil/sensors/note']) {
        await page.goto(path);
        await page.getByText('<img src=x').first().waitFor();
        assert.equal(await page.locator('img[src=x]').count(), 0);
        assert.doesNotMatch(await page.title(), /broken in$/);
      }
    });
  });

  test('speaks French where that is chosen, and stays dark over a reload', async () => {
    await visit({ browser, server }, async (page) => {
      await page.goto('/devices');
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('menuitem', { name: 'Français' }).click();
      await page.getByRole('heading', { name: 'Appareils' }).waitFor();
      await page.getByRole('button', { name: 'Réglages' }).click();
      await page.getByRole('menuitem', { name: 'Sombres' }).click();
      await page.reload();
      await page.getByRole('heading', { name: 'Appareils' }).waitFor();
      assert.equal(await page.locator('html').getAttribute('data-mantine-color-scheme'), 'dark');
      assert.equal(await page.locator('html').getAttribute('lang'), 'fr');
    });
  });
});

test('in a browser, the first run waits for the first value and draws it', { skip }, async () => {
  buildWhereStale();
  const server = await TestServer.start();
  const browser = await launchBrowser();
  try {
    await visit({ browser, server }, async (page) => {
      await page.goto('/');
      await page.getByText('Waiting for the first value').waitFor();
      await assertAccessible(page);
      assert.ok((await page.locator('pre').innerText()).includes(`${server.url}/api/v2/devices`));
      await server.call('guest', 'POST', '/devices', { json: { id: 'field-3', sensors: [{ id: 'TC', unit: '°C' }] } });
      await server.call('guest', 'POST', '/devices/field-3/sensors/TC/values', { json: { value: 21.5 } });
      await page.getByText('It has arrived.').waitFor();
      await page.locator('.u-wrap canvas').waitFor();
      await page.getByText('21.5').first().waitFor();
      await page.getByRole('link', { name: 'Open field-3' }).click();
      await page.waitForURL('/devices/field-3');
    });
  } finally {
    await browser.close();
    await server.stop();
  }
});
