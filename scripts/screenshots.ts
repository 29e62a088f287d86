// `node scripts/screenshots.ts FOLDER [WORD …]`: every page of the dashboard, the panels of its tabs and its dialogs, at
// 1440 × 900 and 390 × 844, light and dark, as PNG files. Words choose pictures by a part of their name, which says what
// the server holds (motes by default; nothing, alarms, many, long, error where a word names it), the scene and the screen.
// `--tour` takes the pictures of the README instead. The server is one of its own in a temporary folder; Chromium is that
// of DUNDUN_TEST_CHROMIUM, or Debian's.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { startOwnServer } from './demo/own-server.ts';
import { screens, shoot } from './screenshots/camera.ts';
import { type House, houses } from './screenshots/houses.ts';
import { doors, type Scene, scenesOf } from './screenshots/scenes.ts';
import { tour } from './screenshots/tour.ts';

const [folder, ...words] = process.argv.slice(2);
if (folder === undefined) throw new Error('Name the folder for the screenshots.');
mkdirSync(folder, { recursive: true });

const kinds = ['nothing', 'motes', 'alarms', 'many', 'long', 'error'] as const;
type Kind = (typeof kinds)[number];

const isTour = words.includes('--tour');
const named = kinds.filter((kind) => words.includes(kind));
const parts = words.filter((word) => !named.includes(word as Kind) && word !== '--tour');
const browser = await launchChromium(process.env['DUNDUN_TEST_CHROMIUM'] ?? '/usr/bin/chromium');
try {
  if (isTour) await takeTour(browser, folder);
  else for (const kind of named.length === 0 ? (['motes'] as const) : named) await takeAll(browser, kind);
} finally {
  await browser.close();
}

async function takeAll(browsing: Browser, kind: Kind): Promise<void> {
  const house: House = kind === 'error' ? 'motes' : kind;
  const server = await startOwnServer();
  const take = async (scenes: Readonly<Record<string, Scene>>, isUser: boolean) => {
    for (const screen of Object.keys(screens)) {
      const chosen = Object.entries(scenes).filter(([name]) => isWanted(`${kind}-${name}-${screen}`));
      if (chosen.length === 0) continue;
      await shoot({
        ...{ browser: browsing, server, isUser, isFailing: kind === 'error', screen },
        scenes: Object.fromEntries(chosen),
        fileOf: (name) => join(folder as string, `${kind}-${name}-${screen}.png`),
      });
    }
  };
  try {
    if (kind === 'nothing') await take(doors, false);
    if (house === 'alarms') await houses.motes(server);
    await houses[house](server);
    await take(scenesOf(house), true);
  } finally {
    await server.stop();
  }
}

function isWanted(name: string): boolean {
  return parts.length === 0 || parts.some((part) => name.includes(part));
}

/** Each picture of the README on its one screen, under the name it has there. */
async function takeTour(browsing: Browser, into: string): Promise<void> {
  const server = await startOwnServer();
  const take = async (house: House) => {
    for (const { name, scene, screen } of tour.filter((picture) => (picture.house ?? 'motes') === house)) {
      const scenes = { [name]: { ...doors, ...scenesOf(house) }[scene] as Scene };
      const fileOf = () => join(into, `${name}.png`);
      await shoot({ browser: browsing, server, isUser: scene in doors === false, screen, scenes, fileOf });
    }
  };
  try {
    await take('nothing');
    await houses.motes(server);
    await take('motes');
    await houses.alarms(server);
    await take('alarms');
  } finally {
    await server.stop();
  }
}
