// What pictures are taken of: every page, the panels of its tabs and its dialogs, by the way that leads there.
import type { Page } from 'playwright-core';
import type { House } from './houses.ts';

export interface Scene {
  readonly path: string;
  /** What is pressed once the page is there. */
  readonly act?: (page: Page) => Promise<unknown>;
}

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();
const choose = (menu: string, item: string) => async (page: Page) => {
  await page.getByRole('button', { name: menu }).first().click();
  await page.getByRole('menuitem', { name: item }).click();
};

/** As a logger writes it: a semicolon between columns, a comma in numbers, local times. */
const loggerFile = Buffer.from(
  [
    'Date;Soil temperature;Air humidity;Battery',
    ...Array.from({ length: 40 }, (_, n) => {
      const time = `${String(6 + Math.floor(n / 6)).padStart(2, '0')}:${(n % 6) * 10 || '00'}`;
      const number = (value: number) => value.toFixed(1).replace('.', ',');
      return `20/11/2026 ${time};${number(18 + n / 5)};${number(71 - n / 2)};${number(3.9)}`;
    }),
  ].join('\r\n'),
);

/** Without a user, on an empty server. */
export const doors: Readonly<Record<string, Scene>> = {
  'sign-in': { path: '/sign-in' },
  'first-run': { path: '/devices' },
};

export function scenesOf(house: House): Readonly<Record<string, Scene>> {
  return { ...lists, ...(house === 'nothing' ? {} : recordsOf(house)) };
}

const lists: Readonly<Record<string, Scene>> = {
  now: { path: '/now' },
  'now-over': { path: '/now?view=over' },
  devices: { path: '/devices' },
  'devices-map': { path: '/devices?view=map' },
  'devices-new': { path: '/devices', act: press('New device') },
  map: { path: '/map' },
  notifications: { path: '/notifications' },
  'notifications-outbox': { path: '/notifications?view=outbox' },
  'notifications-new': { path: '/notifications/new' },
  gateways: { path: '/gateways' },
  'gateways-new': { path: '/gateways', act: press('New gateway') },
  clients: { path: '/clients' },
  projects: { path: '/projects' },
  'projects-new': { path: '/projects', act: press('New project') },
  users: { path: '/users' },
  'users-new': { path: '/users', act: press('New user') },
  nodes: { path: '/nodes' },
  profile: { path: '/profile' },
  'profile-messages': { path: '/profile?tab=messages' },
  'profile-shares': { path: '/profile?tab=shares' },
  'profile-keys': { path: '/profile?tab=keys' },
  'profile-keys-new': { path: '/profile?tab=keys', act: press('New key') },
  'profile-access': { path: '/profile?tab=access' },
  import: { path: '/import' },
  search: { path: '/devices', act: (page) => page.keyboard.press('/') },
  nowhere: { path: '/nowhere' },
};

function recordsOf(house: House): Readonly<Record<string, Scene>> {
  const long = (start: string) => `${start}-`.repeat(200).slice(0, 200);
  const [device, sensor, gateway] = {
    nothing: ['', '', ''],
    motes: ['field-3', 'TC', 'mast-north'],
    alarms: ['field-3', 'TC', 'mast-north'],
    many: ['station-1', 'TC', 'mast-1'],
    long: [long('field'), long('sensor'), long('mast')],
  }[house] as [string, string, string];
  const path = `/devices/${device}`;
  const tab = (name: string): Scene => ({
    path: `${path}?tab=${name}`,
    act: (page) => page.getByRole('tabpanel').scrollIntoViewIfNeeded(),
  });
  return {
    device: { path },
    'device-snippets': tab('snippets'),
    'device-sharing': tab('sharing'),
    'device-keys': tab('keys'),
    'device-drops': tab('drops'),
    'device-activity': tab('activity'),
    'device-about': { path, act: (page) => page.getByRole('heading', { name: 'About' }).scrollIntoViewIfNeeded() },
    'device-edit': { path, act: choose('More about this device', 'Edit device') },
    'device-id': { path, act: choose('More about this device', 'Change the id') },
    'device-delete': { path, act: choose('More about this device', 'Delete device') },
    'device-qr': { path, act: choose('Share', 'QR code') },
    'device-sensor-new': { path, act: press('Add sensor') },
    'device-actuator-new': { path, act: press('Add actuator') },
    sensor: { path: `${path}/sensors/${sensor}?span=7d` },
    ...(house === 'motes' ? courses(path) : {}),
    'sensor-edit': { path: `${path}/sensors/${sensor}`, act: choose('More about this sensor', 'Edit sensor') },
    'sensor-values': {
      path: `${path}/sensors/${sensor}?span=24h&edit=true`,
      act: press('All that is shown'),
    },
    'sensor-id': { path: `${path}/sensors/${sensor}`, act: choose('More about this sensor', 'Change the id') },
    'sensor-calibrate': { path: `${path}/sensors/${sensor}`, act: choose('More about this sensor', 'Calibrate') },
    ...(house === 'many' ? {} : namedOnce(gateway)),
    'import-device': {
      path: `/import?device=${device}`,
      act: (page) =>
        page.setInputFiles('input[type=file]', { name: 'logger.csv', mimeType: 'text/csv', buffer: loggerFile }),
    },
  };
}

/** Spans that charts draw in other ways. */
function courses(path: string): Readonly<Record<string, Scene>> {
  return {
    'chart-year': { path: `${path}/sensors/AIR?span=1y` },
    'chart-rain': { path: `${path}/sensors/RAIN?span=30d` },
    'chart-from-to': { path: `${path}/sensors/AIR?span=7d`, act: press('From – to') },
  };
}

/** Records whose ids the service makes up are opened from their list. */
function namedOnce(gateway: string): Readonly<Record<string, Scene>> {
  return {
    notification: {
      path: '/notifications',
      act: async (page) => {
        await page.locator('main li a').first().click();
        await page.getByText('7 days', { exact: true }).click();
        await page.evaluate('window.scrollTo(0, 0)');
      },
    },
    client: { path: `/clients/${gateway}` },
    'client-disconnect': { path: `/clients/${gateway}`, act: press('Disconnect') },
    gateway: { path: `/gateways/${gateway}` },
    'gateway-sharing': { path: `/gateways/${gateway}`, act: toSharing },
    'project-sharing': { path: '/projects', act: openFirstSharing },
    project: { path: '/projects', act: (page) => page.locator('main li a').first().click() },
  };
}

/** Brings the section that says whom the record is shared with into view. */
async function toSharing(page: Page): Promise<void> {
  await page.getByRole('region', { name: 'Sharing' }).getByLabel('Username').scrollIntoViewIfNeeded();
}

async function openFirstSharing(page: Page): Promise<void> {
  await page.locator('main li a').first().click();
  await toSharing(page);
}
