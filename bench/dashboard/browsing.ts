// A person's browser: each visit begins with empty caches, as a guest or signed in, and times are those of the page's own
// clock, which starts when its address is opened. Waiting is looking, frame by frame, until the page shows what is asked
// for, and then for the next frame.
import type { Browser, Page } from 'playwright-core';
import { Fleet } from '../fleet.ts';

/** A page that never shows what it should fails the bench. */
const waitMsMax = 60_000;
/** Nothing larger is painted after so long without. */
const paintRestMs = 1_000;

const noted = `
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntries()) globalThis.largestPaintMs = startTime;
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  addEventListener('input', () => { globalThis.inputMs = performance.now(); }, true);`;

export interface Visit {
  readonly browser: Browser;
  readonly url: string;
  readonly isUser: boolean;
}

export async function visit<T>({ browser, url, isUser }: Visit, use: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext({ baseURL: url, locale: 'en', viewport: { width: 1440, height: 900 } });
  try {
    await context.addInitScript(noted);
    if (isUser) {
      const answer = await context.request.post('/api/v2/auth/session', { data: Fleet.login });
      if (!answer.ok()) throw new Error(`Signing in: ${answer.status()} ${await answer.text()}`);
      // What the dashboard remembers itself after a sign-in.
      await context.addInitScript("localStorage.setItem('dundun.session', '1')");
    }
    return await use(await context.newPage());
  } finally {
    await context.close();
  }
}

/** Opens an address; how long it took until the page shows what the expression asks for, milliseconds. */
export async function open(page: Page, path: string, shows: string): Promise<number> {
  await page.goto(path, { waitUntil: 'commit' });
  return showsAt(page, shows);
}

/** Does something to a field; how long it took from there until the page shows what the expression asks for. */
export async function change(page: Page, act: () => Promise<unknown>, shows: string): Promise<number> {
  await act();
  const atMs = await showsAt(page, shows);
  return atMs - Number(await page.evaluate('globalThis.inputMs'));
}

function showsAt(page: Page, shows: string): Promise<number> {
  return page.evaluate(`new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('The page does not show: ' + ${JSON.stringify(shows)})), ${waitMsMax});
    const look = () => requestAnimationFrame(() => (${shows}) ? requestAnimationFrame(() => resolve(performance.now())) : look());
    look();
  })`);
}

/** When the largest part of the page was painted, milliseconds. */
export function largestPaintMs(page: Page): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const before = globalThis.largestPaintMs;
      setTimeout(() => before !== undefined && before === globalThis.largestPaintMs ? resolve(before) : look(), ${paintRestMs});
    };
    look();
  })`);
}
