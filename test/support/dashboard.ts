// The dashboard in Debian's Chromium, served by a real server in process. In every test the browser must have called
// no other host and reported no errors or breaches of the content policy, and axe-core must find no fault where it is
// used.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { aloneFlag, launchChromium } from '../../scripts/chromium.ts';
import { password } from './people.ts';
import type { TestServer } from './test-server.ts';
import { until } from './until.ts';

const executablePath = process.env['DUNDUN_TEST_CHROMIUM'];

/** Why tests in a browser are left out; false where they are not. */
export const skip = executablePath === undefined ? 'Chromium is missing' : false;

export const desktop = { viewport: { width: 1440, height: 900 } } as const;
export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true } as const;

const darkPhone = { ...phone, colorScheme: 'dark' } as const;

/** Every size with every scheme of colours. */
export const everyScreen: Readonly<Record<string, BrowserContextOptions>> = {
  'a desktop': desktop,
  'a dark desktop': { ...desktop, colorScheme: 'dark' },
  'a phone': phone,
  'a dark phone': darkPhone,
};

/** Each screen that pages are looked at on: both sizes and both schemes, every pair of them with DUNDUN_TEST_LONG=1. */
export const screens: Readonly<Record<string, BrowserContextOptions>> =
  process.env['DUNDUN_TEST_LONG'] === '1' ? everyScreen : { 'a desktop': desktop, 'a dark phone': darkPhone };

/** @param host a name under which this machine is to be reached, too. */
export function launchBrowser(host?: string): Promise<Browser> {
  return launchChromium(executablePath as string, [aloneFlag(host)]);
}

export interface Visit {
  readonly browser: Browser;
  readonly server: TestServer;
  readonly options?: BrowserContextOptions;
  /** Another name under which the server is reached, such as http://fields.example:8080. */
  readonly origin?: string;
  /** Complaints that the test is about, such as the browser's word on a refused login. */
  readonly expects?: RegExp;
}

/** Opens a page on the server's clock; afterwards there is nothing to complain of. */
export async function visit(
  { browser, server, options = desktop, origin = server.url, expects }: Visit,
  use: (page: Page) => Promise<void>,
) {
  const context = await browser.newContext({ baseURL: origin, locale: 'en', ...options });
  const elsewhere: string[] = [];
  const complaints: string[] = [];
  // Told of each, and asked about none: a page that is asked about keeps no file, and takes a third longer. Other hosts have no
  // address (`aloneFlag`).
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) elsewhere.push(url.href);
  });
  try {
    await context.clock.setSystemTime(server.clock.now());
    const page = await context.newPage();
    fillOnceFocusIsSettled(page);
    // A busy machine takes its time; a fault shows as what is missing, not as how long it took.
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => {
      // The picture in the tab of what is no page (`signIn`).
      if (message.location().url.endsWith('/favicon.ico')) return;
      if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await use(page).catch(async (error: unknown) => {
      // What the page showed, for whoever reads of it where they cannot look.
      console.error(page.url(), await page.locator('body').ariaSnapshot({ timeout: 5_000 }).catch(String));
      throw error;
    });
  } finally {
    await context.close();
  }
  assert.deepEqual(elsewhere, []);
  assert.deepEqual(
    complaints.filter((complaint) => expects?.test(complaint) !== true),
    [],
  );
}

const patched = new WeakSet<object>();

/**
 * What a locator fills in is typed to where the focus is by then, and a dialog takes the focus by timers of its own after
 * it has opened: on a busy machine between the two, so that the text went to another field. Fields of a dialog are filled
 * once it has taken the focus, and what is due in the page by then is done.
 */
function fillOnceFocusIsSettled(page: Page): void {
  const prototype = Object.getPrototypeOf(page.locator('html')) as Locator;
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const { fill } = prototype;
  const settled = `(field) => new Promise((resolve) => {
    const dialog = field.closest('[aria-modal=true]');
    const look = () => setTimeout(dialog === null || dialog.contains(document.activeElement) ? resolve : look);
    look();
  })`;
  prototype.fill = async function (this: Locator, ...given) {
    await this.evaluate(settled);
    await fill.apply(this, given);
  };
}

/** Signs in by the page, as people do, and comes to `path`. */
export async function signInByPage(page: Page, username: string, path = '/devices'): Promise<void> {
  await page.goto(`/sign-in?next=${encodeURIComponent(path)}`);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname === path.split('?')[0]);
}

/**
 * Signs the browser in by the request that the page of sign-ins sends, and goes to `path`: to load that page and fill it in takes as long
 * as what most tests look at.
 */
export async function signIn(page: Page, username: string, path = '/devices'): Promise<void> {
  // The smallest answer from there: a cookie and what a page keeps belong to where it comes from.
  await page.goto('/drum.svg');
  const status = await page.evaluate(
    async ([body, hint]) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json' };
      const answer = await fetch('/api/v2/auth/session', { method: 'POST', headers, body });
      if (answer.ok) localStorage.setItem(hint, '1');
      return answer.status;
    },
    [JSON.stringify({ username, password }), 'dundun.session'] as const,
  );
  assert.equal(status, 200, `${username} is signed in`);
  await page.goto(path);
}

/**
 * Waits until an expression of the page is true. Asked from here each time: what playwright-core polls within a page is
 * refused by our Content-Security-Policy wherever it is not true at once.
 */
export async function becomes(page: Page, expression: string): Promise<void> {
  const isTrue = async () => (await page.evaluate(expression)) === true;
  await until(isTrue, { everyMs: 20, msMax: 60_000, otherwise: () => expression });
}

/**
 * Resolves when the server has taken the page's request to follow the device: what is committed from then on is told.
 * To be called before the page is gone to.
 */
export async function followed(page: Page, device: string): Promise<void> {
  await page.waitForResponse((answer) => new URL(answer.url()).pathname === `/api/v2/devices/${device}/live`);
}

/**
 * Does something and takes it back, for which the page gives some seconds: these do not run out meanwhile, however long
 * a busy machine takes. Every other timer of the page goes on.
 */
export async function inTimeToUndo(page: Page, act: () => Promise<void>): Promise<void> {
  const file = new URL('../../dashboard/src/limits.ts', import.meta.url).href;
  const { undoMs } = ((await import(file)) as { limits: { undoMs: number } }).limits;
  await page.evaluate(`{
    const { setTimeout } = window;
    let held = 0;
    window.setTimeout = (work, ms, ...rest) => {
      if (ms !== ${undoMs}) return setTimeout(work, ms, ...rest);
      held += 1;
      return setTimeout(work, 1000 * ms, ...rest);
    };
    window.endHold = () => {
      window.setTimeout = setTimeout;
      return held;
    };
  }`);
  await act();
  assert.notEqual(await page.evaluate('window.endHold()'), 0, 'nothing could be undone');
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface AxeFault {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** No fault that axe-core finds in the page as it stands. */
export async function assertAccessible(page: Page): Promise<void> {
  // A page is loaded when it is first gone to; its head is there when it is.
  await page.locator('h1').waitFor();
  // What fades in or out has less contrast on its way, which begins a frame after it is there.
  const fading =
    '[...document.querySelectorAll("[role=dialog], .d-fade-in")].filter((one) => getComputedStyle(one).opacity !== "1")';
  await becomes(page, `${fading}.length === 0`);
  const ending = 'document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity)';
  await page.evaluate(`Promise.all(${ending}.map((one) => one.finished.catch(() => {})))`);
  // What comes while the page is looked at is there at once.
  await page.evaluate(`{
    const still = new CSSStyleSheet();
    still.replaceSync('*, *::before, *::after { animation: none !important; transition: none !important; }');
    document.adoptedStyleSheets.push(still);
  }`);
  await page.evaluate(axe);
  const faults = (await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  )) as AxeFault[];
  await page.evaluate('document.adoptedStyleSheets.pop()');
  const told = faults.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary ?? ''}`).join(' | ')}`,
  );
  assert.deepEqual(told, [], page.url());
}

/** Nothing hangs over the side of the screen. */
export async function assertFitsScreen(page: Page): Promise<void> {
  const { scroll, client } = (await page.evaluate(
    '({ scroll: document.documentElement.scrollWidth, client: document.documentElement.clientWidth })',
  )) as { scroll: number; client: number };
  assert.ok(scroll <= client, `${page.url()}: ${scroll} wide on a screen of ${client}`);
}
