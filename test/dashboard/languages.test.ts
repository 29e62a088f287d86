// The languages of the dashboard in a browser: chosen by the browser and by hand, each catalogue fetched only when it is
// chosen, right to left where one reads so; what the service says of imports and messages in the words of the page.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { catalogueOf } from '../support/catalogue.ts';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  desktop,
  launchBrowser,
  phone,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

/** The head of the list of devices in each language. */
const heads = { en: 'Devices', fr: 'Appareils', es: 'Dispositivos', pt: 'Dispositivos', sw: 'Vifaa', ar: 'الأجهزة' };

describe('in a browser, the languages', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [{ id: 'TC', name: 'Sol', unit: '°C' }];
    await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3', sensors } });
    await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: { value: 21.5 } });
    const { body: me } = await server.call('owner', 'GET', '/users/me');
    await server.call('owner', 'PUT', `/users/${me.id}`, { json: { phone: ['+33612345678'] } });
    await server.call('owner', 'POST', '/notifications', {
      json: {
        description: '',
        condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<2.5' },
        action: { usernames: ['owner'], channels: ['sms'], message: '{TC}' },
      },
    });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  /** Speaks the language from now on, as if it had been chosen here before. */
  const inLanguage = async (page: Page, language: string) =>
    page.addInitScript(`localStorage.setItem('dundun.language', '${language}')`);

  test('are chosen by the browser, and each catalogue is fetched only where it is spoken', async () => {
    for (const [language, head] of Object.entries(heads)) {
      await visit({ browser, server, options: { ...desktop, locale: language } }, async (page) => {
        const scripts: string[] = [];
        page.on('request', (request) => scripts.push(new URL(request.url()).pathname));
        await page.goto('/devices');
        await page.getByRole('heading', { level: 1, name: head, exact: true }).waitFor();
        assert.equal(await page.locator('html').getAttribute('lang'), language);
        const fetched = Object.keys(heads).filter((each) =>
          scripts.some((path) => new RegExp(`^/assets/${each}-[^/]+\\.js$`).test(path)),
        );
        assert.deepEqual(fetched, language === 'en' ? [] : [language]);
      });
    }
  });

  test('leave the beginning of a long Latin name in sight where one reads from right to left', async () => {
    const id = `greenhouse-${'north-'.repeat(30)}`;
    await server.call('owner', 'POST', '/devices', { json: { id, visibility: 'public' } });
    for (const options of [desktop, phone]) {
      await visit({ browser, server, options }, async (page) => {
        await inLanguage(page, 'ar');
        await page.goto('/devices');
        const shown = page.locator('a span.d-ellipsis').getByText(id, { exact: true });
        await shown.waitFor();
        const [first, box] = await shown.evaluate((span) => {
          const range = span.ownerDocument.createRange();
          range.setStart(span.firstChild as never, 0);
          range.setEnd(span.firstChild as never, 1);
          return [range.getBoundingClientRect().left, span.getBoundingClientRect().left];
        });
        assert.ok(first >= box - 1, `begins at ${first}, shown from ${box}`);
      });
    }
    await server.call('owner', 'DELETE', `/devices/${id}`);
  });

  test('are chosen in the menu and the profile, with a word where nobody has read a catalogue yet', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner');
      await page.getByRole('button', { name: 'owner', exact: true }).click();
      const menu = page.getByRole('menu');
      const entry = (name: RegExp) => menu.getByRole('menuitem', { name });
      await entry(/^Español.*Not yet read by a native speaker$/).waitFor();
      assert.equal(await entry(/^Français.*native/).count(), 0);
      await entry(/^Español/).click();
      await page.getByRole('heading', { level: 1, name: 'Dispositivos' }).waitFor();
      await page.goto('/profile?tab=access');
      await page.getByLabel('Idioma', { exact: true }).selectOption('fr');
      await page.getByRole('heading', { name: 'Langue et couleurs' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'Langue et couleurs' }).waitFor();
    });
  });

  for (const [name, options] of Object.entries({ 'a desktop': desktop, 'a phone': phone })) {
    test(`from right to left, Arabic mirrors the page on ${name}, but not numbers with their units`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner');
        await inLanguage(page, 'ar');
        for (const path of [
          '/devices',
          '/devices/field-3',
          '/devices/field-3/sensors/TC',
          '/map',
          '/notifications',
          '/import',
        ]) {
          await page.goto(path);
          await page.locator('h1').waitFor();
          assert.equal(await page.locator('html').getAttribute('dir'), 'rtl');
          await assertAccessible(page);
          await assertFitsScreen(page);
        }
        await page.goto('/devices');
        await page.getByText('Field 3').first().waitFor();
        const value = await page.getByText('21.5').first().boundingBox();
        const unit = await page.getByText('°C').first().boundingBox();
        assert.ok(value !== null && unit !== null && value.x < unit.x);
        const rail = await page.getByRole('navigation').first().boundingBox();
        const width = page.viewportSize()?.width ?? 0;
        // The rail stands at the right of a desktop; the bar of a phone takes the whole width.
        assert.ok(rail !== null && rail.x + rail.width / 2 > width / 2 - 1);
      });
    });
  }

  test('turn the page round when they are chosen, and back', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/profile?tab=access');
      await page.getByLabel('Language', { exact: true }).selectOption('ar');
      await becomes(page, `document.documentElement.dir === 'rtl'`);
      await page.getByLabel('اللغة', { exact: true }).selectOption('en');
      await becomes(page, `document.documentElement.dir === 'ltr'`);
      await page.getByRole('heading', { name: 'Language and colours' }).waitFor();
    });
  });

  test('say what is wrong with a file, and show the lines before its table that are left out', async () => {
    const file =
      'Enregistreur 4711\nSite : puits 3\nDate;Heure;TC\n05.06.2024;10:00;21,5\n31.02.2024;10:10;22\n05.06.2024;10:20;22;7\n';
    await visit({ browser, server, options: { ...desktop, timezoneId: 'Europe/Paris' } }, async (page) => {
      await signIn(page, 'owner', '/import?device=field-3');
      await inLanguage(page, 'fr');
      await page.goto('/import?device=field-3');
      const choose = (name: string, text: string) =>
        page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
      await choose('puits.csv', file);
      await page.getByText(/2 lignes avant le tableau laissées de côté/).waitFor();
      await page.getByText('Enregistreur 4711').waitFor();
      const refused = page.getByRole('region', { name: 'Refusé' });
      await refused.getByText(/^31\.02\.2024 10:10 n’est pas une heure écrite jour\.mois\.année/).waitFor();
      await refused.getByText('La ligne a 4 champs, et il y a 3 colonnes.').waitFor();
      await assertAccessible(page);
      await page.getByRole('button', { name: 'Un autre fichier' }).click();
      await choose('rien.csv', 'quand,quoi\nx,1\n');
      await page.getByText('Aucune colonne n’est l’heure. Choisissez-la sous « Colonnes ».').waitFor();
    });
  });

  test('say what the service refuses beside the field, in the words of the page', async () => {
    const asked = { username: 'a/b', password: 'not a common one' };
    const { body: problem } = await server.call('admin', 'POST', '/users', { json: asked });
    assert.partialDeepStrictEqual(problem.errors, [{ pointer: '/username', code: 'username', params: { max: 64 } }]);
    await visit({ browser, server, expects: /400|422/ }, async (page) => {
      await signIn(page, 'admin', '/users');
      for (const language of ['en', 'fr', 'es', 'pt', 'sw', 'ar']) {
        const { users, person, faults } = await catalogueOf(language);
        await inLanguage(page, language);
        await page.goto('/users');
        await page.getByRole('button', { name: users.create }).first().click();
        const form = page.getByRole('dialog');
        const [name, secret] = [
          form.getByLabel(person.username),
          form.locator('input[type=password], input.mantine-PasswordInput-innerInput').first(),
        ];
        const send = form.getByRole('button', { name: users.createSubmit });
        await name.fill('a/b');
        await secret.fill('password123');
        await send.click();
        const english = language === 'en';
        await form
          .getByText(english ? 'must have 1 to 64 characters, none of / + # ?' : faults.fields.username({ max: 64 }), {
            exact: true,
          })
          .waitFor();
        await name.fill('awa');
        await send.click();
        const common = 'is one of the most common passwords, which are guessed first';
        await form.getByText(english ? common : faults.fields['common-password'], { exact: true }).waitFor();
        await secret.fill('not a common one');
        await name.fill('owner');
        await send.click();
        if (!english) await form.getByText(faults.kinds.exists, { exact: true }).waitFor();
        const text = (await form.textContent()) ?? '';
        if (!english) assert.doesNotMatch(text, /\b(must|taken|there is|another)\b/i);
      }
    });
  });

  test('let one say how many lines stand before the table', async () => {
    await visit({ browser, server, expects: /400/ }, async (page) => {
      await signIn(page, 'owner', '/import?device=field-3');
      const buffer = Buffer.from('a;b;c\ntime;TC;RH\n2024-06-05T10:00:00Z;1;2\n');
      await page.locator('input[type=file]').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer });
      await page.getByText(/1 line before the table left out/).waitFor();
      await page.getByRole('button', { name: 'Read it differently' }).click();
      await page.getByLabel('Lines before the table').fill('0');
      await page.getByText('Left out, before the table').waitFor({ state: 'detached' });
      await page.getByLabel('How times are written').fill('???');
      await page.getByText('This is no way in which times are written that is understood.').waitFor();
    });
  });

  test('say why a message did not go, and write numbers in sentences as the language does', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/notifications');
      await inLanguage(page, 'fr');
      await page.goto('/notifications');
      await page.getByText(/est inférieur à 2,5/).waitFor();
      await page.goto('/profile?tab=messages');
      await page.getByRole('button', { name: /SMS/ }).first().click();
      await page.getByText(/Pas envoyé : aucun fournisseur n’est configuré pour les SMS \(DUNDUN_/).waitFor();
    });
  });

  test('part words as the language does, and say of an address that cannot be one that nothing is there', async () => {
    await server.call('owner', 'POST', '/notifications', {
      json: {
        description: 'Two ways',
        condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC>40' },
        action: { usernames: ['owner'], channels: ['sms', 'telegram'], message: '{TC}' },
      },
    });
    await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: { value: 50 } });
    await server.running.idle();
    const [alarm] = (await server.call('owner', 'GET', '/alarms')).body as { id: string }[];
    await server.call('owner', 'PUT', `/alarms/${alarm?.id}/acknowledgement`, { json: { note: 'la pompe' } });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/now');
      await inLanguage(page, 'fr');
      await page.goto('/now');
      await page.getByText('owner s’en occupe\u00a0: la pompe').waitFor();
    });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/notifications');
      await inLanguage(page, 'ar');
      await page.goto('/notifications');
      const text = (await page.getByRole('listitem').filter({ hasText: 'Two ways' }).textContent()) ?? '';
      assert.match(text, /، Telegram/);
      assert.doesNotMatch(text, /, /);
    });
    for (const language of ['en', 'fr'])
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'owner', '/devices');
        await inLanguage(page, language);
        for (const path of ['/devices/%00', '/gateways/%00', '/devices/field-3/sensors/a%20b']) {
          await page.goto(path);
          await page.getByText(language === 'fr' ? 'Il n’y a rien ici.' : 'There is nothing here.').waitFor();
        }
      });
  });
});
