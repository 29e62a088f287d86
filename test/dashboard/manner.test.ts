// The whole dashboard: no English text in the French version, dialogs trap the focus and return it, no animation where
// the user wants none, errors in plain words with a next step.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { catalogueOf } from '../support/catalogue.ts';
import { assertAccessible, becomes, desktop, launchBrowser, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

/** A catalogue as its texts by their places; those made of numbers and names are left out. */
async function textsOf(language: string): Promise<ReadonlyMap<string, string>> {
  return new Map(leaves(await catalogueOf(language), ''));
}

function leaves(node: unknown, place: string): (readonly [string, string])[] {
  if (typeof node === 'string') return [[place, node]];
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([name, below]) => leaves(below, `${place}/${name}`));
}

/** Every text on the page, seen or read out. */
const textsOnPage = `(() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement.closest('script, style, [lang]:not(html)') === null) texts.push(walker.currentNode.data.trim());
  }
  for (const element of document.querySelectorAll('*')) {
    for (const name of ['aria-label', 'placeholder', 'title', 'alt', 'aria-description']) {
      const text = element.getAttribute(name);
      if (text !== null) texts.push(text.trim());
    }
  }
  return [document.title.replace(' · Dundun', ''), ...texts].filter((text) => text !== '');
})()`;

test('the French catalogue says nothing in English', async () => {
  const [english, french] = [await textsOf('en'), await textsOf('fr')];
  assert.deepEqual([...french.keys()].sort(), [...english.keys()].sort());
  // Names, units and formats are the same everywhere; sentences are not.
  const same = [...english].filter(([place, text]) => /\w+ \w+ \w+/.test(text) && french.get(place) === text);
  assert.deepEqual(same, []);
});

describe('in a browser, the whole dashboard', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  /** Each with a text that says it is there. */
  let paths: readonly (readonly [path: string, text: string])[];

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Sol', unit: '°C' }, { id: 'RH' }];
    await server.call('admin', 'POST', '/devices', { json: { id: 'champ-3', name: 'Champ 3', sensors } });
    await server.call('admin', 'POST', '/devices/champ-3/sensors/TC/values', { json: { value: 21.5 } });
    await server.call('admin', 'POST', '/gateways', { json: { id: 'mat', name: 'Mât nord' } });
    const project = await server.call('admin', 'POST', '/projects', { json: { name: 'Oignons' } });
    const rule = await server.call('admin', 'POST', '/notifications', {
      json: {
        description: 'Trop froid',
        condition: { devices: ['champ-3'], sensors: ['TC'], expression: 'TC<40' },
        action: { usernames: ['admin'], channels: ['none'], message: '{id} : {TC}' },
      },
    });
    const { body: me } = await server.call('admin', 'GET', '/users/me');
    paths = [
      ['/devices', 'Champ 3'],
      ['/devices/champ-3', 'Sol'],
      ['/devices/champ-3/sensors/TC', 'Champ 3'],
      ['/map', 'Carte'],
      ['/gateways', 'Mât nord'],
      ['/gateways/mat', 'Mât nord'],
      ['/notifications', 'Trop froid'],
      [`/notifications/${rule.text}`, 'Trop froid'],
      ['/projects', 'Oignons'],
      [`/projects/${project.text}`, 'Oignons'],
      ['/users', 'stranger'],
      [`/users/${me.id}`, 'Supprimer le compte'],
      ['/import', 'Importer et exporter'],
      ['/nowhere', 'Il n’y a rien ici.'],
      ['/profile', 'Prénom'],
      ['/profile?tab=messages', 'Essayer chaque canal'],
      ['/profile?tab=shares', 'Vous ne partagez encore rien.'],
      ['/profile?tab=keys', 'Pas encore de clé.'],
      ['/profile?tab=access', 'Langue et couleurs'],
    ];
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  test('shows no English text in French', async () => {
    const [english, french] = [await textsOf('en'), await textsOf('fr')];
    const known = new Set(french.values());
    const foreign = new Set([...english.values()].filter((text) => !known.has(text)));
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin');
      await page.evaluate(`localStorage.setItem('dundun.language', 'fr')`);
      for (const [path, text] of paths) {
        await page.goto(path);
        await page.getByRole('main').getByText(text).first().waitFor();
        const texts = (await page.evaluate(textsOnPage)) as readonly string[];
        assert.ok(texts.includes('Appareils'), path);
        assert.deepEqual(
          texts.filter((text) => foreign.has(text)),
          [],
          path,
        );
      }
    });
  });

  const dialogs = [
    ['/devices', 'New device'],
    ['/users', 'New user'],
    ['/profile?tab=keys', 'New key'],
    ['/gateways', 'New gateway'],
    ['/projects', 'New project'],
    ['/devices/champ-3', 'Add sensor'],
    ['/devices/champ-3', 'Add actuator'],
  ] as const;
  for (const [path, button] of dialogs) {
    test(`holds the focus in the dialog "${button}" and gives it back`, async () => {
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'admin', path);
        const opener = page.getByRole('button', { name: button });
        await opener.focus();
        await page.keyboard.press('Enter');
        await page.getByRole('dialog', { name: button }).waitFor();
        await assertAccessible(page);
        await assertHoldsFocus(page);
        // Or the ground under a short page shows in another shade.
        assert.equal(await page.evaluate('document.body.getBoundingClientRect().bottom >= innerHeight'), true);
        await page.keyboard.press('Escape');
        // The list of choices of a field that completes takes the first for itself.
        await page.keyboard.press('Escape');
        await page.getByRole('dialog').waitFor({ state: 'detached' });
        await becomes(page, `document.activeElement?.textContent.includes(${JSON.stringify(button)})`);
      });
    });
  }

  test('can be reached by keys alone, content first where that is wanted', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'admin', '/users');
      await page.reload();
      await page.getByText('stranger').first().waitFor();
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
      assert.match(String(await page.evaluate('document.activeElement.textContent')), /New user/);
    });
  });

  test('does not move where no motion is wanted', async () => {
    await visit({ browser, server, options: { ...desktop, reducedMotion: 'reduce' } }, async (page) => {
      await signIn(page, 'admin');
      await page.getByRole('button', { name: 'New device' }).click();
      await page.getByRole('dialog').waitFor();
      const moving = `document.getAnimations().filter((one) => one.effect.getComputedTiming().duration > 1).length`;
      assert.equal(await page.evaluate(moving), 0);
    });
  });

  test('keeps its rail where a page cannot be fetched, and shows the page when the network is back', async () => {
    await visit({ browser, server, expects: /ERR_|Failed to load|preload|^ApiProblem/ }, async (page) => {
      await signIn(page, 'admin');
      await page.context().setOffline(true);
      await page.getByRole('link', { name: 'Projects' }).click();
      await page.getByRole('main').getByText('The server does not answer.').waitFor();
      await page.getByRole('link', { name: 'Projects' }).waitFor();
      await page.context().setOffline(false);
      await page.getByRole('heading', { name: 'Projects', level: 1 }).waitFor();
    });
  });

  test('says so where the words of what is drawn cannot be fetched, asks seldom, and draws it when the network is back', async () => {
    await visit({ browser, server, expects: /ERR_|Failed to load|preload|^ApiProblem/ }, async (page) => {
      await signIn(page, 'admin');
      await page.getByText('Champ 3').waitFor();
      let asked = 0;
      page.on('request', (request) => {
        asked += Number(request.url().includes('/assets/pages-en-'));
      });
      // And whether anybody answers at all.
      const withheld = ['**/assets/pages-en-*', `${server.url}/`];
      for (const url of withheld) await page.route(url, (route) => route.abort('connectionrefused'));
      await page.getByRole('button', { name: 'New device' }).click();
      await page.getByText('The server does not answer.').waitFor();
      const before = asked;
      // As often as it would be drawn anew while nobody holds it up.
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
      assert.ok(asked - before <= 2, `${asked - before} times within half a second`);
      for (const url of withheld) await page.unroute(url);
      await page.getByText('Champ 3').waitFor();
    });
  });

  test('says in plain words that the server does not answer, and goes on when it does', async () => {
    await visit({ browser, server, expects: /ERR_|Failed to load/ }, async (page) => {
      await signIn(page, 'admin', '/profile');
      await page.getByRole('textbox', { name: 'First name' }).fill('Adama');
      await page.route('**/api/v2/users/**', (route) => route.abort('connectionrefused'));
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('The server does not answer.').waitFor();
      assert.equal(await page.getByRole('textbox', { name: 'First name' }).inputValue(), 'Adama');
      await page.unroute('**/api/v2/users/**');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Saved.').waitFor();
    });
  });
});

/** However often Tab is pressed, the focus stays in the dialog. */
async function assertHoldsFocus(page: Page): Promise<void> {
  for (let n = 0; n < 30; n += 1) {
    await page.keyboard.press('Tab');
    assert.ok(await page.evaluate(`document.activeElement.closest('[role=dialog]') !== null`), `after ${n + 1} tabs`);
  }
}
