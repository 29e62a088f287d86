// `node scripts/weak-link.ts`: what the dashboard costs on a weak link, 30 kB/s and 300 ms there and back, among 2 000 devices
// on a server of its own: how long until the first rows of the list, and of the page Now with its alarms, stand there and how much
// data they take, what the map takes, and, at full speed, how long the chart of a year takes. Fails beyond a budget. The files of the dashboard
// are in the browser's cache, as they are from the second visit on; what the first one costs is said besides.
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import type { ServerAddress } from './demo/options.ts';
import { startOwnServer } from './demo/own-server.ts';
import { Rest } from './demo/rest.ts';

const devices = 2_000;
const link = { offline: false, latency: 300, downloadThroughput: 30_000, uploadThroughput: 30_000 } as const;
const budgets = {
  rowsMs: 4_000,
  rowsBytes: 100_000,
  nowMs: 4_000,
  nowBytes: 60_000,
  mapBytes: 150_000,
  yearMs: 1_000,
} as const;
/** Devices with an open alarm: more than a screen has. */
const hotDevices = 40;
const minuteMs = 60_000;

interface Cost {
  readonly ms: number;
  /** Of answers of the API. */
  readonly dataBytes: number;
  /** Of everything, as it came over the line. */
  readonly allBytes: number;
}

const server = await startOwnServer();
const browser = await launchChromium(process.env['DUNDUN_TEST_CHROMIUM'] ?? '/usr/bin/chromium');
let isOver = false;
try {
  await fill(server);
  const context = await signedIn(browser, server);
  const rows = 'document.querySelectorAll("main li a[data-columns]").length > 5';
  const groups = 'document.querySelectorAll(".leaflet-marker-icon[tabindex]").length > 0';
  const year = 'Number(document.querySelector(".uplot")?.dataset.drawn) > 300';
  const words = 'document.body?.innerText.trim() !== ""';
  say('first visit, first words', await cost(context, '/devices', { shows: words, isWeak: true, isCold: true }), {});
  say('first visit, list', await cost(context, '/devices', { shows: rows, isWeak: true, isCold: true }), {});
  say('list of devices', await cost(context, '/devices', { shows: rows, isWeak: true }), {
    msMax: budgets.rowsMs,
    dataBytesMax: budgets.rowsBytes,
  });
  const alarms = 'document.querySelectorAll("main ul > li[data-state=active]").length > 5';
  say('now, with alarms', await cost(context, '/now', { shows: alarms, isWeak: true }), {
    msMax: budgets.nowMs,
    dataBytesMax: budgets.nowBytes,
  });
  await cost(context, '/map', { shows: groups });
  say('map', await cost(context, '/map', { shows: groups, isWeak: true }), { dataBytesMax: budgets.mapBytes });
  const chart = '/devices/station-0/sensors/year?span=1y';
  await cost(context, chart, { shows: year });
  say('chart of a year, full speed', await cost(context, chart, { shows: year }), { msMax: budgets.yearMs });
} finally {
  await browser.close();
  await server.stop();
}
if (isOver) process.exitCode = 1;

function say(
  what: string,
  { ms, dataBytes, allBytes }: Cost,
  {
    msMax = Number.POSITIVE_INFINITY,
    dataBytesMax = Number.POSITIVE_INFINITY,
  }: { msMax?: number; dataBytesMax?: number },
): void {
  const isTooMuch = ms > msMax || dataBytes > dataBytesMax;
  isOver ||= isTooMuch;
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1_000)} kB`;
  const said = `${(ms / 1_000).toFixed(2)} s, ${kilobytes(dataBytes)} of data, ${kilobytes(allBytes)} in all`;
  console.log(`${what}: ${said}${isTooMuch ? ', MORE THAN THE BUDGET' : ''}`);
}

async function fill(address: ServerAddress): Promise<void> {
  const rest = await Rest.signIn(address);
  const now = Math.floor(Date.now() / minuteMs) * minuteMs;
  const numbers = Array.from({ length: devices }, (_, n) => n);
  for (let from = 0; from < devices; from += 32) {
    await Promise.all(numbers.slice(from, from + 32).map((n) => create(rest, n)));
  }
  // A day of half hours.
  for (let step = 47; step >= 0; step -= 1) {
    const timestamp = new Date(now - step * 30 * minuteMs).toISOString();
    const value = (n: number) => Number((22 + 5 * Math.sin((n + step) / 6)).toFixed(1));
    await rest.post(
      'datapoints',
      numbers.map((n) => ({ device_id: `station-${n}`, sensor_id: 'TC', value: value(n), timestamp })),
    );
  }
  const hot = numbers.slice(1, 1 + hotDevices).map((n) => `station-${n}`);
  const condition = { devices: hot, sensors: ['TC'], expression: 'TC>40' };
  const action = { usernames: [address.user], channels: ['none'], message: '{device}: {value}' };
  await rest.post('notifications', { description: 'Too hot', condition, action });
  await rest.post(
    'datapoints',
    hot.map((device_id) => ({ device_id, sensor_id: 'TC', value: 41.5 })),
  );
  const quarters = Array.from({ length: 365 * 96 }, (_, n) => ({
    value: Number((20 + 8 * Math.sin(n / 5_000) + 5 * Math.sin(n / 15)).toFixed(1)),
    timestamp: new Date(now - (365 * 96 - n) * 15 * minuteMs).toISOString(),
  }));
  for (let from = 0; from < quarters.length; from += 10_000) {
    await rest.push('devices/station-0/sensors/year', quarters.slice(from, from + 10_000), () => {});
  }
}

async function create(rest: Rest, n: number): Promise<void> {
  const sensors = [{ id: 'TC', name: 'Temperature', unit: '°C' }, ...(n === 0 ? [{ id: 'year', unit: '°C' }] : [])];
  const location = { latitude: 12 + ((n * 7) % 397) / 100, longitude: -16.5 + ((n * 13) % 601) / 100 };
  await rest.post('devices', { id: `station-${n}`, name: `Station ${n}`, sensors, location });
}

async function signedIn(browsing: Browser, { url, user, password }: ServerAddress): Promise<BrowserContext> {
  const context = await browsing.newContext({ baseURL: url, locale: 'en', viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  await page.goto('/sign-in?next=/devices');
  await page.getByLabel('Username').fill(user);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('/devices');
  await rest(page);
  await page.close();
  return context;
}

/** Until nothing more comes; the stream of alarms stays open, so that it is waited for some seconds at most. */
async function rest(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle', { timeout: 6_000 }).catch(() => {});
}

/** Of a page in a tab of its own, until it shows what the expression asks for; bytes until nothing more comes. */
async function cost(
  context: BrowserContext,
  path: string,
  { shows, isWeak = false, isCold = false }: { shows: string; isWeak?: boolean; isCold?: boolean },
): Promise<Cost> {
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    const bytes = await countBytes(session);
    if (isCold) await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    if (isWeak) await session.send('Network.emulateNetworkConditions', link);
    await page.goto(path, { waitUntil: 'commit', timeout: 120_000 });
    const ms = await showsAt(page, shows);
    await rest(page);
    return { ms, ...bytes() };
  } finally {
    await page.close();
  }
}

/** From the page's own clock, which starts when its address is opened. */
function showsAt(page: Page, shows: string): Promise<number> {
  return page.evaluate(`new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('The page does not show: ' + ${JSON.stringify(shows)})), 120000);
    const look = () => requestAnimationFrame(() => (${shows}) ? resolve(performance.now()) : look());
    look();
  })`);
}

async function countBytes(session: CDPSession): Promise<() => { dataBytes: number; allBytes: number }> {
  const paths = new Map<string, string>();
  let [dataBytes, allBytes] = [0, 0];
  await session.send('Network.enable');
  session.on('Network.requestWillBeSent', ({ requestId, request }) =>
    paths.set(requestId, new URL(request.url).pathname),
  );
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    allBytes += encodedDataLength;
    if (paths.get(requestId)?.startsWith('/api/') === true) dataBytes += encodedDataLength;
  });
  return () => ({ dataBytes, allBytes });
}
