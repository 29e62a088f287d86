// A device's page in a browser: name and visibility, live tiles, chart, position and actuators; sharing, keys, dropped
// messages and snippets; deleting; no fault on any screen size.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Locator, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  followed,
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

describe('in a browser, the page of a device', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }, { id: 'RH', name: 'Air', unit: '%' }, { id: 'note' }];
    const actuators = [
      { id: 'valve', value_type: 'bool', value: false },
      { id: 'speed', value_type: 'number', value: 5, meta: { min: 0, max: 10 } },
      { id: 'sign', value_type: 'string', value: evil },
      { id: 'plan', value_type: 'object', value: { a: 1 } },
    ];
    const location = { latitude: 16.03, longitude: -16.49 };
    const json = { id: 'field-3', name: 'Field 3', sensors, actuators, location, gateway_id: 'mast' };
    await server.call('owner', 'POST', '/devices', { json });
    await server.call('owner', 'POST', '/devices', { json: { id: 'bare' } });
    const evilSensors = [{ id: 'note', name: evil, unit: evil }];
    await server.call('guest', 'POST', '/devices', { json: { id: 'evil', name: evil, sensors: evilSensors } });
    await server.call('guest', 'POST', '/devices/evil/sensors/note/values', { json: { value: evil } });
    const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
    for (const [sensor, factor] of [
      ['TC', 1],
      ['RH', 2],
    ] as const) {
      const values = Array.from({ length: 100 }, (_, n) => ({
        value: (20 + n / 10) * factor,
        timestamp: at((100 - n) * 10),
      }));
      await server.call('owner', 'POST', `/devices/field-3/sensors/${sensor}/values`, { json: values });
    }
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const read = async (path: string) => (await server.call('owner', 'GET', path)).body;

  test('shows each sensor as a tile, live, with its trend', async () => {
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'field-3');
      await page.clock.setFixedTime(server.clock.now());
      await signIn(page, 'owner', '/devices/field-3');
      const tile = page.getByRole('region', { name: 'Sensors' }).getByRole('link').filter({ hasText: 'Soil' });
      await tile.getByRole('img', { name: /more than three hours ago/ }).waitFor();
      assert.match(await tile.innerText(), /29\.9[\s\S]*°C[\s\S]*10 min ago/);
      await live;
      await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: { value: 33.25 } });
      await tile.getByText('33.25').waitFor();
      await tile.click();
      await page.waitForURL('/devices/field-3/sensors/TC');
    });
  });

  test('is renamed and made public where it stands, and both are taken back', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      await inTimeToUndo(page, async () => {
        await page.getByRole('button', { name: 'Edit the name' }).click();
        await page.getByRole('textbox', { name: 'Name' }).fill('Upper field');
        await page.keyboard.press('Enter');
        await page.getByText('Saved.').waitFor();
        assert.equal((await read('/devices/field-3')).name, 'Upper field');
        await page.getByRole('button', { name: 'Undo' }).click();
      });
      await page.getByRole('heading', { name: 'Field 3' }).waitFor();
      await inTimeToUndo(page, async () => {
        await page
          .getByRole('switch', { name: /Public/ })
          .first()
          .press('Space');
        await page.getByText('Public now').waitFor();
        assert.equal((await read('/devices/field-3')).visibility, 'public');
        await page.getByRole('button', { name: 'Undo' }).last().click();
      });
      await page.getByText('Private now').waitFor();
      assert.equal((await read('/devices/field-3')).visibility, 'private');
    });
  });

  test('draws the sensors chosen, which stand in the address', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      const legend = page.locator('.u-legend');
      await legend.getByText('Air').waitFor();
      await page.getByRole('group', { name: 'Sensors in the chart' }).getByText('Air').click();
      await page.waitForURL(/chart=.*TC/);
      await legend.getByText('Air').waitFor({ state: 'detached' });
      await page.getByText('7 d', { exact: true }).click();
      await page.waitForURL(/span=7d/);
      await page.reload();
      await legend.getByText('Soil').waitFor();
      assert.equal(await legend.getByText('Air').count(), 0);
    });
  });

  test('sets actuators by a control that fits their value', async () => {
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'field-3');
      await signIn(page, 'owner', '/devices/field-3');
      const actuators = page.getByRole('region', { name: 'Actuators' });
      await actuators.getByRole('switch', { name: 'valve' }).press('Space');
      await page.getByText('valve is set to on.').waitFor();
      assert.equal((await read('/devices/field-3/actuators/valve')).value, true);
      await actuators.getByRole('slider', { name: 'speed' }).press('ArrowRight');
      await page.getByText(/speed is set to 5\.1/).waitFor();
      await actuators.getByRole('textbox', { name: 'plan' }).fill('{"a": 2');
      await actuators.getByRole('button', { name: 'Set' }).last().click();
      await actuators.getByText('This is no JSON.').waitFor();
      await actuators.getByRole('textbox', { name: 'plan' }).fill('{"a": 2}');
      await actuators.getByRole('button', { name: 'Set' }).last().click();
      await page.getByText('plan is set to {"a":2}.').waitFor();
      assert.deepEqual((await read('/devices/field-3/actuators/plan')).value, { a: 2 });
      await live;
      await server.call('owner', 'PUT', '/devices/field-3/actuators/sign/value', { json: 'from afar' });
      await becomes(page, `document.querySelector('[aria-label="sign"]').value === 'from afar'`);
      // The value is of another type than the actuator says: the value decides.
      await server.call('owner', 'PUT', '/devices/field-3/actuators/sign/value', { json: true });
      await actuators.getByRole('switch', { name: 'sign' }).waitFor();
      await server.call('owner', 'PUT', '/devices/field-3/actuators/valve/value', { json: 'half' });
      await becomes(page, `document.querySelector('[aria-label="valve"]').value === 'half'`);
    });
  });

  test('shows what actuators were set to last, who set them, and what became of it, on the chart too', async () => {
    const history = { id: 'set-often', sensors: [{ id: 's' }], actuators: [{ id: 'gate', name: 'Gate' }] };
    await server.call('owner', 'POST', '/devices', { json: history });
    await server.call('owner', 'POST', '/devices/set-often/sensors/s/values', { json: [{ value: 1 }, { value: 2 }] });
    const set = (json: unknown) => server.call('owner', 'PUT', '/devices/set-often/actuators/gate/value', { json });
    for (const value of ['ajar', 'open']) await set(value);
    await server.call('owner', 'POST', '/devices/set-often/actuators/gate/ack');
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/set-often');
      const actuators = page.getByRole('region', { name: 'Actuators' });
      await actuators.getByText('API · owner').waitFor();
      await actuators.getByText('confirmed').waitFor();
      await actuators.getByRole('button', { name: 'Earlier settings' }).click();
      await actuators.getByText('ajar').waitFor();
      await actuators.getByText('not delivered').waitFor();
      await page.getByText('2 settings of actuators').waitFor();
      await actuators.getByRole('textbox', { name: 'Gate' }).fill('shut');
      await actuators.getByRole('button', { name: 'Set', exact: true }).click();
      await actuators.getByText('dashboard · owner').waitFor();
      await page.getByText('3 settings of actuators').waitFor();
    });
  });

  test('takes a sensor and an actuator, edits and deletes the actuator', async () => {
    await visit({ browser, server, expects: /400/ }, async (page) => {
      await signIn(page, 'owner', '/devices/bare');
      await page.getByText('No sensor yet.').waitFor();
      await page.getByRole('button', { name: 'Add sensor' }).click();
      // By name: a dialog that is closed stays for the time of its fading, beside the next.
      const sensor = page.getByRole('dialog', { name: 'Add sensor' });
      await sensor.getByRole('textbox', { name: 'Id' }).fill('a b');
      await sensor.getByRole('button', { name: 'Add sensor' }).click();
      await sensor.getByText(/must/).first().waitFor();
      await sensor.getByRole('textbox', { name: 'Id' }).fill('TC');
      await sensor.getByRole('button', { name: 'Add sensor' }).click();
      await page.getByText('TC is there.').waitFor();
      await page.getByRole('button', { name: 'Add actuator' }).click();
      const actuator = page.getByRole('dialog', { name: 'Add actuator' });
      await actuator.getByRole('textbox', { name: 'Id' }).fill('pump');
      await sensor.waitFor({ state: 'detached' });
      await assertAccessible(page);
      await actuator.getByRole('button', { name: 'Add actuator' }).click();
      await page.getByText('pump is there.').waitFor();
      await page.getByRole('switch', { name: 'pump' }).waitFor();
      await page.getByRole('button', { name: 'More about pump' }).click();
      await page.getByRole('menuitem', { name: 'Delete actuator' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete actuator' }).click();
      await page.getByText('pump is deleted.').waitFor();
      assert.deepEqual((await read('/devices/bare')).actuators, []);
    });
  });

  test('keeps a dialog with what was typed when the page around it changes', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'new-one' } });
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'new-one');
      await signIn(page, 'owner', '/devices/new-one');
      await live;
      await page.getByRole('button', { name: 'Add actuator' }).click();
      const id = page.getByRole('dialog').getByRole('textbox', { name: 'Id' });
      await id.fill('pump');
      await server.call('owner', 'POST', '/devices/new-one/sensors', { json: { id: 'TC' } });
      await server.call('owner', 'POST', '/devices/new-one/sensors/TC/values', { json: { value: 21.5 } });
      await page.getByText('21.5').first().waitFor();
      assert.equal(await id.inputValue(), 'pump');
      await page.getByRole('dialog').getByRole('button', { name: 'Add actuator' }).click();
      await page.getByRole('switch', { name: 'pump' }).waitFor();
    });
  });

  test('has its place on a map, by typing and by dragging', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      await page.getByLabel('Latitude').fill('95');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('From -90 to 90.').waitFor();
      await page.getByLabel('Latitude').fill('15.5');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The place is changed.').waitFor();
      assert.equal((await read('/devices/field-3')).location.latitude, 15.5);
      const marker = page.locator('.leaflet-marker-draggable');
      await marker.scrollIntoViewIfNeeded();
      const box = await restingBox(marker);
      const moved = page.waitForResponse((answer) => answer.url().endsWith('/location'));
      await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
      await page.mouse.down();
      await page.mouse.move(box.x + 68, box.y - 40, { steps: 5 });
      await page.mouse.up();
      assert.equal((await moved).status(), 204);
      assert.ok((await read('/devices/field-3')).location.latitude > 15.5);
    });
  });

  test('gets its first place by a press on the map', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/bare');
      await page.getByRole('button', { name: 'Set the place' }).click();
      const map = page.locator('.leaflet-container');
      await map.scrollIntoViewIfNeeded();
      const { x, y, width, height } = await restingBox(map);
      const set = page.waitForResponse((answer) => answer.url().endsWith('/location'));
      await page.mouse.click(x + width / 2 + 40, y + height / 2 - 30);
      assert.equal((await set).status(), 204);
      const { latitude, longitude } = (await read('/devices/bare')).location;
      assert.ok(latitude > 15 && latitude < 40 && longitude > 0 && longitude < 40, `${latitude} ${longitude}`);
      await page.locator('.leaflet-marker-draggable').waitFor();
    });
  });

  test('gives lines that send a value, and lights up when one arrives', async () => {
    await visit({ browser, server }, async (page) => {
      const live = followed(page, 'field-3');
      await signIn(page, 'owner', '/devices/field-3?tab=snippets');
      const lines = page.locator('pre');
      for (const [language, said] of [
        ['curl', `${server.url}/api/v2/devices/field-3/sensors/TC/values`],
        ['mosquitto_pub', `-t 'devices/field-3/sensors/TC/value'`],
        ['Python', 'urllib.request'],
        ['Arduino', 'http.POST'],
        ['Node', 'await fetch'],
      ] as const) {
        await page.getByText(language, { exact: true }).click();
        await lines.getByText(said).waitFor();
        assert.match(await lines.innerText(), /DUNDUN_KEY/);
      }
      await page.getByText('Waiting for a value').waitFor();
      await live;
      await server.call('owner', 'POST', '/devices/field-3/sensors/RH/values', { json: { value: 12 } });
      await page.getByText('It has arrived: RH is 12.').waitFor();
    });
  });

  test('is shared by username, with chips for rights, and says why somebody sees it', async () => {
    await visit({ browser, server, expects: /404/ }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3');
      await page.getByRole('button', { name: 'Share' }).first().click();
      await page.getByRole('menuitem', { name: 'Share with people' }).click();
      // What it says opens at once, not in a tab below the fold.
      const panel = page.getByRole('dialog');
      await panel.getByLabel('Username', { exact: true }).fill('nobody-here');
      await panel.getByRole('button', { name: 'Share', exact: true }).click();
      await panel.getByRole('alert').waitFor();
      await panel.getByLabel('Username', { exact: true }).fill('stranger');
      await page.keyboard.press('Escape');
      await panel.getByRole('button', { name: 'Share', exact: true }).click();
      const rights = panel.getByRole('group', { name: 'Rights of stranger' });
      await rights.getByText('change it').click();
      await becomes(page, `document.querySelectorAll('[aria-label="Rights of stranger"] input:checked').length === 3`);
      await server.running.idle();
      await assertAccessible(page);
      await panel.getByRole('button', { name: 'Close' }).click();
      await page.goto('/devices/field-3?tab=sharing');
      const tab = page.getByRole('tabpanel');
      await tab.getByLabel(/Username, or guest/).fill('stranger');
      await page.keyboard.press('Escape');
      await tab.getByRole('button', { name: 'Explain' }).click();
      await tab.getByText('owner shared it with stranger, who may:').waitFor();
      await assertAccessible(page);
      await tab.getByRole('button', { name: 'Stop sharing with stranger' }).click();
      await page.getByText('No longer shared with stranger.').waitFor();
      assert.deepEqual(await read('/devices/field-3/shares'), []);
    });
  });

  test('has keys of its own, shown once and revoked', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/field-3?tab=keys');
      await page.getByLabel('What is it for').fill('Roof');
      await page.getByRole('button', { name: 'Make key' }).click();
      await page.getByText('It is shown this once').waitFor();
      const key = await page.locator('pre').innerText();
      const headers = { authorization: `Bearer ${key.trim()}` };
      const path = '/api/v2/devices/field-3/sensors/TC/values';
      assert.equal((await server.send('POST', path, { headers, json: { value: 1 } })).status, 204);
      await assertAccessible(page);
      await page.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await page.getByText('Roof is revoked.').waitFor();
      assert.equal((await server.send('POST', path, { headers, json: { value: 1 } })).status, 401);
    });
  });

  test('is deleted once its id was typed, when much goes with it', async () => {
    await visit({ browser, server }, async (page) => {
      await server.call('owner', 'POST', '/devices', { json: { id: 'much', sensors: [{ id: 'TC' }] } });
      const json = Array.from({ length: 1_200 }, (_, n) => ({ value: n }));
      await server.call('owner', 'POST', '/devices/much/sensors/TC/values', { json });
      await signIn(page, 'owner', '/devices/much');
      await page.getByRole('button', { name: 'More about this device' }).click();
      await page.getByRole('menuitem', { name: 'Delete device' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('1,200 datapoints').waitFor();
      assert.equal(await dialog.getByRole('button', { name: 'Delete device' }).isDisabled(), true);
      await dialog.getByLabel('Type much to confirm').fill('much');
      await dialog.getByRole('button', { name: 'Delete device' }).click();
      await page.waitForURL('/devices');
      assert.equal((await server.call('owner', 'GET', '/devices/much')).status, 404);
    });
  });

  test('shows a stranger of a public device what they may see, and what was written as text', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'stranger', '/devices/evil');
      await page.getByText('<img src=x').first().waitFor();
      assert.equal(await page.locator('img[src=x]').count(), 0);
      assert.doesNotMatch(await page.title(), /broken in$/);
      await assertNothingToPress(page);
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`has no fault on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/devices/field-3');
        for (const path of ['field-3', 'field-3?tab=sharing', 'field-3?tab=keys', 'field-3?tab=drops', 'bare']) {
          await page.goto(`/devices/${path}`);
          await page.getByRole('tabpanel').waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
        }
        await page.goto('/devices/evil');
        await page.getByText('<img src=x').first().waitFor();
        await assertFitsScreen(page);
        await page.goto('/devices/field-3');
        await page.getByRole('button', { name: 'Share' }).first().click();
        await page.getByRole('menuitem', { name: 'QR code' }).click();
        await page.getByRole('img', { name: /QR code of http/ }).waitFor();
        await assertAccessible(page);
      });
    });
  }
});

async function assertNothingToPress(page: Page): Promise<void> {
  for (const name of ['Edit the name', 'Add sensor']) {
    assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  }
  await page.getByRole('button', { name: 'More about this device' }).click();
  await page.getByRole('menuitem', { name: 'Import and export' }).waitFor();
  assert.equal(await page.getByRole('menuitem', { name: 'Delete' }).count(), 0);
}

/** Where something is once it has come to rest. */
async function restingBox(place: Locator) {
  for (let before = await place.boundingBox(); ; ) {
    const box = await place.boundingBox();
    assert.ok(box !== null);
    if (box.x === before?.x && box.y === before.y) return box;
    before = box;
  }
}
