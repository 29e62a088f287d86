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

/** @param flags more of them, for what one caller alone needs. */
export function launchChromium(executablePath: string, flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath, args: [...quietFlags, ...flags] });
}

/** A flag with which no host has an address but this machine, and `host` is this machine. */
export function aloneFlag(host?: string): string {
  const rules = ['MAP * ~NOTFOUND', 'EXCLUDE 127.0.0.1', 'EXCLUDE localhost'];
  if (host !== undefined) rules.unshift(`MAP ${host} 127.0.0.1`);
  return `--host-resolver-rules=${rules.join(', ')}`;
}
