// The browser and the system that a User-Agent header names, for people to know their own again. Whatever names neither is
// left to the caller. A browser says the names of those it is compatible with too: the first that fits counts.

const browsers = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['CrOS', 'ChromeOS'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

export interface BrowserName {
  readonly browser: string | undefined;
  readonly system: string | undefined;
}

export function browserOf(agent: string): BrowserName {
  const named = (known: readonly (readonly [sign: string, name: string])[]) =>
    known.find(([sign]) => agent.includes(sign))?.[1];
  return { browser: named(browsers), system: named(systems) };
}
