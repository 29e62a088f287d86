// Texts of people in a browser: signs that turn the direction of what stands behind them are drawn nowhere, and a name in letters
// that run the other way turns nothing around it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { assertFitsScreen, becomes, launchBrowser, screens, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const turning = '\u202e';
const turned = (text: string) => `${turning}${text}\u2067`;

describe('in a browser, signs that turn the direction of text', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  let rule: string;
  let project: string;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const call = (method: string, path: string, json: object) => server.call('owner', method, path, { json });
    await call('POST', '/gateways', { id: 'mast', name: turned('Mast') });
    await call('POST', '/devices', {
      ...{ id: 'field-3', name: turned('Field 3'), gateway_id: 'mast', location: { latitude: 16, longitude: -16 } },
      sensors: [
        { id: 'TC', name: turned('Soil'), unit: `\u202em` },
        { id: 'door', name: 'Door' },
      ],
      actuators: [{ id: 'valve', name: turned('Valve') }],
      meta: { notes: turned('key under the stone'), by: turned('Awa') },
    });
    await call('POST', '/devices', { id: 'arabic', name: 'حقل', sensors: [{ id: 'TC' }] });
    const more = { description: turned('Too hot'), action: { usernames: ['owner'], channels: ['none'], message: 'x' } };
    const condition = { devices: ['field-3', 'arabic'], sensors: ['TC'], expression: 'TC>40' };
    rule = (await call('POST', '/notifications', { condition, ...more })).text;
    project = (await call('POST', '/projects', { name: turned('North'), devices: ['field-3'] })).text;
    await call('POST', '/devices/field-3/sensors/door/values', { value: turned('open') });
    for (const device of ['field-3', 'arabic'])
      await call('POST', `/devices/${device}/sensors/TC/values`, { value: 41 });
    await server.running.idle();
    const [alarm] = (await server.call('owner', 'GET', '/alarms?device=field-3')).body as { id: string }[];
    await call('PUT', `/alarms/${alarm?.id}/acknowledgement`, { note: turned('on my way') });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const assertNone = async (page: Page) => {
    const found = (await page.evaluate(`[
      document.title,
      document.documentElement.outerHTML,
      ...[...document.querySelectorAll('input, textarea')].map(({ value }) => value),
    ].flatMap((text) => text.match(/.{0,60}[\\u202a-\\u202e\\u2067].{0,60}/g) ?? [])`)) as string[];
    assert.deepEqual(found, [], page.url());
  };

  for (const [screen, options] of Object.entries(screens).filter(([name]) => !name.includes('dark')))
    test(`stand nowhere on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', '/now');
        const pages: readonly (readonly [path: string, words: string])[] = [
          ['/now', 'on my way'],
          ['/devices', 'Field 3'],
          ['/map', 'Field 3'],
          ['/devices/field-3', 'Field 3'],
          ['/devices/field-3?tab=alarms', 'Soil of Field 3'],
          ['/devices/field-3?tab=activity', 'Door: open'],
          ['/devices/field-3?tab=about', 'key under the stone'],
          ['/devices/field-3/sensors/TC', 'Soil'],
          ['/devices/field-3/sensors/door', 'open'],
          ['/notifications', 'Too hot'],
          [`/notifications/${rule}`, 'Too hot'],
          ['/gateways', 'Mast'],
          ['/gateways/mast', 'Mast'],
          ['/projects', 'North'],
          [`/projects/${project}`, 'North'],
        ];
        for (const [path, words] of pages) {
          await page.goto(path);
          await page.getByText(words).filter({ visible: true }).first().waitFor();
          await assertNone(page);
          await assertFitsScreen(page);
        }
        await page.goto('/devices/field-3');
        await becomes(page, `document.title.endsWith(' Field 3 · Dundun')`);
        // What a page did not change it does not write.
        const name = (await server.call('owner', 'GET', '/devices/field-3')).body as { name: string };
        assert.equal(name.name, turned('Field 3'));
      });
    });

  test('a name in letters that run the other way is kept together in sentences and titles', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/now');
      await page.getByText('TC of \u2068حقل\u2069: 41').waitFor();
      await page.goto('/devices/arabic');
      await becomes(page, `document.title.endsWith(' \u2068حقل\u2069 · Dundun')`);
    });
  });

  test('values keep them in files', async () => {
    const { text } = await server.call('owner', 'GET', '/devices/field-3/sensors/door/values?format=csv');
    assert.ok(text.includes(turned('open')));
  });
});
