// Debian's Chromium without a window, for tests, the bench and screenshots: it does not call home itself.
import { type Browser, chromium } from 'playwright-core';

const quietFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: quietFlags });
}
