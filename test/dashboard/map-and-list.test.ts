// The map and the list of devices in a browser, as they are on a phone and among many: groups with the shares of their
// states, nothing over another, coasts without another host, one's own position; names, ages and filters in view; and one
// request for the days of what is in view.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  desktop,
  launchBrowser,
  phone,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { openRegistryOf } from '../support/data.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const longName = 'Onion field behind the old pump house';

describe('in a browser, the map and the list of devices', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    for (let n = 0; n < 60; n += 1) {
      // Six places, two of them so near to each other that their groups would touch.
      const [east, north] = [
        [0, 0],
        [0.4, 0.1],
        [1.5, 1.2],
        [0, 2.4],
        [1.5, 3.6],
        [0, 4.8],
      ][n % 6] as [number, number];
      const location = { latitude: 14 + north + 0.002 * n, longitude: -17 + east + 0.002 * (n % 7) };
      const json = {
        id: `station-${n}`,
        name: n === 59 ? longName : `Station ${n}`,
        sensors: [{ id: 'TC', unit: '°C' }],
        location,
      };
      await server.call('owner', 'POST', '/devices', { json });
    }
    const push = async (isWanted: (n: number) => boolean) => {
      for (let n = 0; n < 60; n += 1)
        if (n % 7 !== 3 && isWanted(n))
          await server.call('owner', 'POST', `/devices/station-${n}/sensors/TC/values`, { json: { value: n } });
    };
    await push((n) => n % 5 === 0);
    server.clock.advance(30 * 3_600_000);
    await push((n) => n % 5 !== 0);
    server.clock.advance(6 * 60_000);
    await server.running.idle();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const groups = (page: Page) => page.locator('.leaflet-marker-icon[title*="devices here"]');

  for (const [screen, options] of Object.entries({ 'a desktop': desktop, 'a phone': phone })) {
    test(`a group says how many of it are in which state, and no marker lies over another, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/map');
        await groups(page).first().waitFor();
        const titles = await groups(page).evaluateAll((found) => found.map((one) => one.getAttribute('title') ?? ''));
        assert.ok(
          titles.some((title) => /\(\d+ fresh, \d+ silent/.test(title)),
          titles.join('\n'),
        );
        const rings = await groups(page).evaluateAll((found) =>
          found.map((one) => one.firstElementChild?.getAttribute('style') ?? ''),
        );
        assert.ok(
          rings.every((ring) => ring.includes('conic-gradient')),
          rings.join('\n'),
        );
        const boxes = await page.locator('.leaflet-marker-icon[tabindex]').evaluateAll((found) =>
          found.map((one) => {
            const { x, y, width } = one.getBoundingClientRect();
            return { x: x + width / 2, y: y + width / 2, radius: width / 2 };
          }),
        );
        for (const [at, one] of boxes.entries()) {
          for (const other of boxes.slice(at + 1)) {
            const apart = Math.hypot(one.x - other.x, one.y - other.y);
            assert.ok(apart >= one.radius + other.radius - 1, JSON.stringify([one, other]));
          }
        }
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });

    test(`has coasts of its own and asks for positions alone, in one small answer, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        const asked: string[] = [];
        page.on('request', (request) => asked.push(new URL(request.url()).pathname));
        await signIn(page, 'owner', '/map');
        await page.locator('[data-coasts=drawn]').waitFor();
        await groups(page).first().waitFor();
        assert.equal(asked.filter((path) => path === '/api/v2/device_positions').length, 1);
        assert.equal(asked.filter((path) => path === '/api/v2/devices').length, 0);
        // Out to all of the world, once.
        const out = page.getByRole('button', { name: 'Zoom out' });
        await until(
          async () => {
            if ((await out.getAttribute('aria-disabled')) === 'true') return true;
            // Does nothing while the map still moves, or once it is out, when `click` would wait for the button.
            await out.dispatchEvent('click');
            return false;
          },
          { everyMs: 50, msMax: 60_000, otherwise: () => out.getAttribute('aria-disabled') },
        );
        await becomes(page, `document.querySelector('.leaflet-zoom-anim') === null`);
        const degrees = await page
          .locator('.leaflet-marker-pane')
          .evaluate((pane) =>
            [...pane.querySelectorAll('span')].flatMap(
              ({ textContent }) => /^([\d.]+)° [EW]$/.exec(textContent ?? '')?.[1] ?? [],
            ),
          );
        assert.ok(degrees.length > 2 && degrees.every((one) => Number(one) <= 180), degrees.join());
        assert.equal(new Set(degrees).size >= degrees.length / 2, true);
      });
    });

    test(`shows names, ages and filters without a move to the side, on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        const days: string[] = [];
        page.on('request', (request) => {
          if (request.url().includes('/api/v2/sensors_data')) days.push(request.url());
        });
        await signIn(page, 'owner');
        const row = page.getByRole('link').filter({ hasText: longName });
        await row.waitFor();
        const name = row.getByText(longName, { exact: true });
        const { shown, whole } = (await name.evaluate((one) => ({
          shown: one.clientHeight,
          whole: one.scrollHeight,
        }))) as { shown: number; whole: number };
        assert.ok(whole <= shown + 1, `${whole} of ${shown}`);
        const heard = page.getByRole('link').filter({ hasText: 'Station 57' });
        assert.equal(await heard.getByText('6 min ago').isVisible(), true);
        for (const label of ['Mine', 'Gateway']) {
          const box = await page
            .getByRole('group', { name: 'Filters' })
            .getByText(label, { exact: true })
            .boundingBox();
          assert.ok(box !== null && box.x >= 0 && box.x + box.width <= options.viewport.width, label);
        }
        await until(async () => days.length > 0, { everyMs: 20, msMax: 60_000, otherwise: () => 'no days asked for' });
        await becomes(page, `document.querySelectorAll('main svg path').length > 5`);
        assert.equal(days.length, 1);
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });
  }

  test('names take the room that values leave, though a few devices have many values', async () => {
    const sensors = ['a', 'b', 'c', 'd'].map((id) => ({ id }));
    await server.call('owner', 'POST', '/devices', { json: { id: 'four', name: 'Four', sensors } });
    for (const { id } of sensors)
      await server.call('owner', 'POST', `/devices/four/sensors/${id}/values`, { json: { value: 1 } });
    const options = { viewport: { width: 1280, height: 800 } };
    await visit({ browser, server, options }, async (page) => {
      await signIn(page, 'owner');
      const row = page.getByRole('link').filter({ hasText: longName });
      await row.waitFor();
      const [name, values] = (await row.evaluate((one) =>
        [1, 2].map((at) => one.children[at]?.getBoundingClientRect().width ?? 0),
      )) as [number, number];
      assert.ok(name > 320 && values < 200, `${name} beside ${values}`);
      await page.getByRole('link').filter({ hasText: 'Four' }).getByText('+3').waitFor();
      await assertFitsScreen(page);
    });
  });

  test('goes to where one is, and says in plain words why it cannot over plain HTTP', async () => {
    const options = { ...desktop, permissions: ['geolocation'], geolocation: { latitude: 16.03, longitude: -16.49 } };
    await visit({ browser, server, options }, async (page) => {
      await signIn(page, 'owner', '/map');
      await groups(page).first().waitFor();
      await page.getByRole('button', { name: 'Use my position' }).click();
      await page.getByTitle('You are here').waitFor();
      await page.evaluate(`Object.defineProperty(window, 'isSecureContext', { value: false })`);
      await page.getByRole('button', { name: 'Use my position' }).click();
      await page.getByText('only over HTTPS').waitFor();
    });
  });

  test('show a device whose stored place no map can draw, as one without a place', async () => {
    await server.call('owner', 'POST', '/devices', { json: { id: 'far', name: 'Far away', sensors: [{ id: 's' }] } });
    const { registry, close } = await openRegistryOf(server.folder);
    for (const location of ['{"latitude":1,"longitude":1e300}', '{"latitude":"1","longitude":1}']) {
      await registry.write([registry.read.updateTable('device').set({ location }).where('id', '=', 'far')]);
      await server.restart();
      await visit({ browser, server, options: desktop }, async (page) => {
        await signIn(page, 'owner', '/devices/far');
        await page.getByRole('heading', { name: 'Far away' }).waitFor();
        await page.getByRole('button', { name: 'Set the place' }).waitFor();
        await page.goto('/map?find=far');
        await page.getByRole('heading', { name: 'Map' }).waitFor();
      });
    }
    await close();
    await server.call('owner', 'DELETE', '/devices/far');
  });

  // The last of all, because it turns the clock.
  test('count in a group those that are heard seldom as they usually are', async () => {
    for (let n = 0; n < 12; n += 1) {
      const location = { latitude: -30 + 0.001 * n, longitude: 20 };
      const json = { id: `seldom-${n}`, sensors: [{ id: 'level' }], location };
      await server.call('owner', 'POST', '/devices', { json });
    }
    for (let round = 0; round < 6; round += 1) {
      for (let n = 0; n < 12; n += 1)
        await server.call('owner', 'POST', `/devices/seldom-${n}/sensors/level/values`, { json: { value: round } });
      await server.running.idle();
      server.clock.advance(48 * 3_600_000);
    }
    await visit({ browser, server, options: desktop }, async (page) => {
      await signIn(page, 'owner', '/map');
      const seldom = page.locator('.leaflet-marker-icon[title^="12 devices here"]');
      await seldom.waitFor();
      assert.match((await seldom.getAttribute('title')) ?? '', /12 fresh/);
    });
  });
});
