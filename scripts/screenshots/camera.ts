// Takes pictures: a scene on a screen, as a PNG file. What complains on the way (the console, what hangs over the side) is
// written out, so that a look at the pictures begins there.
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { ServerAddress } from '../demo/options.ts';
import type { Scene } from './scenes.ts';

export const screens: Readonly<Record<string, BrowserContextOptions>> = {
  'desktop-light': { viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 390, height: 844 }, colorScheme: 'light', isMobile: true, hasTouch: true },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark', isMobile: true, hasTouch: true },
};

export interface Shot {
  readonly browser: Browser;
  readonly server: ServerAddress;
  readonly isUser: boolean;
  /** Whether the server refuses whatever is read, once one has signed in. */
  readonly isFailing?: boolean;
  readonly screen: string;
  readonly scenes: Readonly<Record<string, Scene>>;
  readonly fileOf: (name: string) => string;
}

/** Milliseconds for skeletons, charts and what fades in. */
const settleMs = 1_200;

export async function shoot({ browser, server, isUser, isFailing, screen, scenes, fileOf }: Shot): Promise<void> {
  const context = await browser.newContext({ ...screens[screen], baseURL: server.url, locale: 'en' });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  if (isUser) await signIn(page, server);
  if (isFailing === true) await refuseAll(page);
  for (const [name, { path, act }] of Object.entries(scenes)) {
    try {
      await page.goto(path);
      await page.locator('h1, [role=alert]').first().waitFor();
      await page.waitForTimeout(settleMs / 2);
      await act?.(page);
    } catch (error) {
      console.error(`${name} on ${screen}: ${String(error).split('\n')[0]}`);
    }
    // A server that refuses is asked again before that is said.
    if (isFailing === true)
      await page
        .getByRole('alert')
        .first()
        .waitFor({ timeout: 5_000 })
        .catch(() => {});
    await page.mouse.move(0, 0);
    await page.waitForTimeout(settleMs);
    const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    if (Number(over) > 0) console.error(`${name} on ${screen}: hangs over the side by ${over} pixels`);
    await page.screenshot({ path: join(fileOf(name)) });
  }
  await context.close();
}

async function signIn(page: Page, server: ServerAddress): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Username').fill(server.user);
  await page.getByLabel('Password', { exact: true }).fill(server.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('/now');
}

async function refuseAll(page: Page): Promise<void> {
  const json = {
    type: 'urn:dundun:problem:busy',
    title: 'Service Unavailable',
    status: 503,
    detail: 'The disk is full.',
  };
  await page.route('**/api/v2/**', (route) => {
    const isSession = route.request().url().includes('/auth/session');
    return isSession ? route.continue() : route.fulfill({ status: 503, json });
  });
}
