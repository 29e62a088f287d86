// The elements of a page do not move while answers of the server arrive one after the other, so that nobody presses
// the wrong button. Measured by the browser (cumulative layout shift; up to 0.1 counts as good).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { becomes, desktop, launchBrowser, phone, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const shiftMax = 0.02;
/** Pixels by which something that can be pressed may move: from the middle of the smallest button it is no way out. */
const movedMax = 8;
/** What is below the first screen counts too. */
const tall = { viewport: { width: 1440, height: 2_400 } };
/** What a desktop shows at first is on a tall screen, too. */
const sizes = {
  ...(process.env['DUNDUN_TEST_LONG'] === '1' ? { 'a desktop': desktop } : {}),
  ...{ 'a tall screen': tall, 'a phone': phone },
};

const sensors = [{ id: 'TC', name: 'Soil temperature', unit: '°C' }, { id: 'RH', unit: '%' }, { id: 'text' }];

describe('while its answers come', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  /** Each with a text that says it is there. */
  let paths: readonly (readonly [path: string, text: string])[];

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const make = (path: string, json: object) => server.call('admin', 'POST', path, { json });
    await make('/gateways', { id: 'gateway-1', name: 'North mast' });
    const location = { latitude: 16.03, longitude: -16.49 };
    const actuators = [{ id: 'pump', value_type: 'bool' }];
    const device = { id: 'field-3', name: 'Field 3', gateway_id: 'gateway-1' };
    await make('/devices', { ...device, sensors, actuators, location });
    const at = (minutes: number) => new Date(server.clock.now() - minutes * 60_000).toISOString();
    const values = Array.from({ length: 48 }, (_, n) => ({ value: 20 + Math.sin(n / 5), timestamp: at(n * 30) }));
    await make('/devices/field-3/sensors/TC/values', values);
    await make('/devices/field-3/sensors/text/values', { value: 'dry' });
    await make('/auth/keys', { name: 'roof', devices: ['field-3'] });
    const project = await make('/projects', { name: 'Onions', device_ids: ['field-3'], gateway_ids: ['gateway-1'] });
    const rule = await make('/notifications', {
      description: 'Too cold',
      condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<40' },
      action: { usernames: ['admin'], channels: ['none'], message: '{id} is {TC}' },
    });
    // One with an open alarm, on whose page that stands above all.
    await make('/devices', { id: 'house', name: 'Hot house', sensors, location: { latitude: 15.5, longitude: -16.2 } });
    await make('/notifications', {
      description: 'Too hot',
      condition: { devices: ['house'], sensors: ['TC'], expression: 'TC>30' },
      action: { usernames: ['admin'], channels: ['none'], message: '{id} is {TC}' },
    });
    await make('/devices/house/sensors/TC/values', { value: 41.5 });
    await server.running.idle();
    paths = [
      ['/now', 'threshold 30'],
      ['/now?view=over', 'Nothing has been wrong yet.'],
      ['/now?view=snoozed', 'Nothing is snoozed.'],
      ['/map', '2 devices with a position'],
      ['/devices/house', 'threshold 30'],
      ['/devices/house?tab=alarms', 'threshold 30'],
      ['/notifications', 'Holds now'],
      ['/devices', 'Field 3'],
      ['/devices/field-3', 'Soil temperature'],
      ['/devices/field-3?tab=keys', 'roof'],
      ['/devices/field-3?tab=sharing', 'Share'],
      ['/devices/field-3/sensors/TC', 'Too cold'],
      [`/notifications/${rule.text}`, 'or another condition'],
      ['/notifications/new', 'Create notification'],
      ['/gateways/gateway-1', 'How to connect'],
      [`/projects/${project.text}`, 'North mast'],
      ['/profile?tab=keys', 'roof'],
    ];
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  for (const [screen, options] of Object.entries(sizes)) {
    test(`no page moves under the hand on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'admin');
        const pending = await answerLate(page);
        await page.addInitScript(watchShifts);
        for (const [path, text] of paths) {
          // The legend of a chart takes as many lines as its names ask for, which is known when they are.
          if (screen === 'a phone' && path.startsWith('/projects/')) continue;
          await page.goto(path);
          await page.getByRole('main').getByText(text).first().waitFor();
          await rests(page, pending);
          const shifts = (await page.evaluate('window.shifts')) as readonly Shift[];
          const sum = shifts.reduce((all, { value }) => all + value, 0);
          assert.ok(sum < shiftMax, `${path}: ${sum}: ${JSON.stringify(shifts)}`);
          const pressable = shifts.flatMap(({ moved }) => moved.filter((one) => one.isPressable && one.by > movedMax));
          assert.deepEqual(pressable, [], path);
        }
      });
    });
  }
});

interface Shift {
  readonly value: number;
  readonly moved: readonly { readonly text: string; readonly by: number; readonly isPressable: boolean }[];
}

const watchShifts = `{
  window.shifts = [];
  const pressed = 'button, a, input, select, textarea';
  const isThere = (box) => box.width > 0 && box.height > 0;
  const moved = ({ node, previousRect: from, currentRect: to }) => ({
    text: node.textContent.slice(0, 60),
    by: Math.max(Math.abs(from.x - to.x), Math.abs(from.y - to.y)),
    isPressable: node.nodeType === 1 && (node.closest(pressed) ?? node.querySelector(pressed)) !== null,
  });
  const isWhole = ({ node, previousRect, currentRect }) => node !== null && isThere(previousRect) && isThere(currentRect);
  const note = ({ value, sources }) => window.shifts.push({ value, moved: sources.filter(isWhole).map(moved) });
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: 'layout-shift', buffered: true });
}`;

/** Each answer at another time than its neighbours; gives how many requests wait for theirs, streams aside. */
async function answerLate(page: Page): Promise<() => number> {
  let asked = 0;
  const pending = new Set<object>();
  await page.route('**/api/**', async (route) => {
    const request = route.request();
    asked += 1;
    if (!request.url().endsWith('/live')) pending.add(request);
    await new Promise((done) => setTimeout(done, 60 + ((asked * 7) % 5) * 90));
    // The page may be gone by now.
    await route.fallback().catch(() => undefined);
  });
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  return () => pending.size;
}

/** Until nothing is asked any more, and what was answered is drawn. */
async function rests(page: Page, pending: () => number): Promise<void> {
  const frames = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))';
  do await becomes(page, frames);
  while (pending() > 0);
  await becomes(page, frames);
  if (pending() > 0) await rests(page, pending);
}
