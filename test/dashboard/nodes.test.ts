// The page of servers in a browser: calm where there is one, a line or a card for each where there are several, for admins alone;
// asked again every few seconds as long as it is seen.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import type { NodeReport } from '../../src/domain/ports/nodes.ts';
import {
  assertAccessible,
  assertFitsScreen,
  launchBrowser,
  phone,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { engineWith } from '../support/engine-with.ts';
import { TestServer } from '../support/test-server.ts';
import { until } from '../support/until.ts';

const isOnPostgres = process.env['DUNDUN_TEST_ENGINE'] === 'postgres';
const evil = `<img src=x onerror="document.title='broken in'">`;

describe('in a browser, servers', { skip }, () => {
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    browser = await launchBrowser();
  });
  after(() => browser.close());

  describe('where the data are in a folder', { skip: isOnPostgres && 'of the embedded engine' }, () => {
    let server: TestServer;

    before(async () => {
      server = await TestServer.start();
    });
    after(() => server.stop());

    test('are one, which is said calmly, with its figures and what there is beyond it', async () => {
      for (const screen of Object.values(screens)) {
        await visit({ browser, server, options: screen }, async (page) => {
          await signIn(page, 'admin', '/nodes');
          await page.getByRole('heading', { name: 'This service runs on one server.' }).waitFor();
          await page.getByText('1 server', { exact: true }).waitFor();
          await page.getByText('alive', { exact: true }).waitFor();
          await page.getByText(/^\d+ HTTP, 0 MQTT$/).waitFor();
          await page.getByText('0 a second').waitFor();
          await page.getByText('docs/scaling.md').waitFor();
          await assertFitsScreen(page);
          await assertAccessible(page);
        });
      }
    });

    test('are found in the menu by admins, and by nobody else', async () => {
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'admin');
        await page.getByRole('link', { name: 'Servers' }).click();
        await page.waitForURL('/nodes');
        await page.getByText('1 server', { exact: true }).waitFor();
      });
      await visit({ browser, server, options: phone }, async (page) => {
        await signIn(page, 'admin');
        await page.getByRole('button', { name: 'More' }).click();
        await page.getByRole('link', { name: 'Servers' }).click();
        await page.waitForURL('/nodes');
      });
      await visit({ browser, server, expects: /403/ }, async (page) => {
        await signIn(page, 'owner', '/nodes');
        await page.getByRole('alert').waitFor();
        assert.equal(await page.getByRole('link', { name: 'Servers' }).count(), 0);
        assert.equal(await page.getByText('alive').count(), 0);
        await assertAccessible(page);
      });
    });
  });

  describe('where several share the data', () => {
    const secondMs = 1_000;
    let server: TestServer;
    let nodes: readonly NodeReport[] = [];
    let asked = 0;

    const node = (id: string, more: Partial<NodeReport> = {}): NodeReport => {
      const nowMs = server.clock.now();
      return {
        ...{ id, isOwn: false, startedMs: nowMs - 3 * 86_400_000, lastSeenMs: nowMs - secondMs, silentMs: secondMs },
        ...{ isAlive: true, behind: 0, behindLog: 0, leases: [], figures: figures() },
        ...more,
      };
    };
    const figures = (more: Partial<NodeReport['figures']> = {}): NonNullable<NodeReport['figures']> => ({
      ...{ host: 'field-1', release: '0.1.0', connections: { http: 12, mqtt: 3_400 }, datapointsPerSecond: 166.7 },
      ...more,
    });

    before(async () => {
      // What several servers tell, played by the test: real ones are in test/process/nodes.process.test.ts.
      server = await TestServer.start(
        {},
        {
          replaceEngine: (engine) => ({
            ...engineWith(engine, {}),
            nodes: {
              isShared: true,
              tell: () => {},
              list: async () => {
                asked += 1;
                return nodes;
              },
            },
          }),
        },
      );
    });
    after(() => server.stop());

    test('each has a line, on a phone a card: who lives, who is behind, who does what for all', async () => {
      nodes = [
        node('a', { isOwn: true, leases: ['alarms', 'outbox', 'rules/0', 'rules/1', 'later'] }),
        // Less than two seconds of what all store.
        node('b', { behindLog: 300, figures: figures({ host: evil }) }),
        node('c', {
          ...{ isAlive: false, lastSeenMs: server.clock.now() - 330_000, silentMs: 330_000, leases: ['sealing'] },
          ...{ behind: 3, behindLog: 54_321, figures: figures({ host: 'field-3', datapointsPerSecond: 0.05 }) },
        }),
        node('just-started', { figures: undefined, startedMs: server.clock.now() - secondMs }),
      ];
      for (const [name, screen] of Object.entries(screens)) {
        await visit({ browser, server, options: screen }, async (page) => {
          await signIn(page, 'admin', '/nodes');
          await page.getByText('4 servers, 1 silent').waitFor();
          const lines = page.getByRole('list', { name: 'Servers' }).getByRole('listitem');
          const texts = (await lines.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
          const [a = '', b = '', c = '', d = ''] = texts;
          assert.match(a, /field-1.*answers you.*Started 3 days? ago/i, name);
          assert.match(a, /alive.*up to date.*watches for silence, sends messages, evaluates notifications, later/);
          assert.match(a, /12 HTTP, 3,400 MQTT.*167 a second/);
          assert.match(b, /img src=x.*alive.*up to date.*nothing, it stands by/);
          assert.match(
            c,
            /field-3.*silent, last heard 5 min ago.*54,321 datapoints, 3 changes.*compresses.*0\.05 a second/,
          );
          assert.match(d, /just-started.*alive.*not told yet.*not told yet/);
          await page.getByText('is declared dead').waitFor();
          // Where one pressed to sign in there may be an age now, which tells more under the mouse.
          await page.mouse.move(0, 0);
          await page.getByRole('tooltip').waitFor({ state: 'detached' });
          await assertFitsScreen(page);
          await assertAccessible(page);
          assert.doesNotMatch(await page.title(), /broken in/);
        });
      }
    });

    test('one alone on a database is told how others come', async () => {
      nodes = [node('a', { isOwn: true })];
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'admin', '/nodes');
        await page.getByText('Another that is started with the same DUNDUN_DATABASE_URL').waitFor();
        await page.getByText('1 server', { exact: true }).waitFor();
      });
    });

    test('none at all is said too', async () => {
      nodes = [];
      await visit({ browser, server }, async (page) => {
        await signIn(page, 'admin', '/nodes');
        await page.getByText('No server to be seen.').waitFor();
        await assertAccessible(page);
      });
    });

    test('are asked again by themselves while the page is seen, and not while nobody sees it', async () => {
      nodes = [node('a', { isOwn: true })];
      const see = (state: string) => `{
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
        document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
      }`;
      await visit({ browser, server }, async (page) => {
        // The interval passes in no time.
        await page.addInitScript(`{
          const { setInterval } = window;
          window.setInterval = (work, ms, ...rest) => setInterval(() => { window.looks = (window.looks ?? 0) + 1; work(); }, ms === 5000 ? 50 : ms, ...rest);
        }`);
        await signIn(page, 'admin', '/nodes');
        await page.getByText('1 server', { exact: true }).waitFor();
        nodes = [node('a', { isOwn: true }), node('b')];
        await page.getByText('2 servers', { exact: true }).waitFor();
        await page.evaluate(see('hidden'));
        // What was under way when it was hidden comes to its end.
        const looks = async () => Number(await page.evaluate('window.looks'));
        const pass = async (count: number) => {
          const begun = await looks();
          await until(async () => (await looks()) >= begun + count);
        };
        await pass(5);
        const before = asked;
        await pass(20);
        assert.equal(asked, before);
        await page.evaluate(see('visible'));
        await until(() => asked > before);
      });
    });

    test('a service that does not answer is said, and what was known stays', async () => {
      nodes = [node('a', { isOwn: true })];
      await visit({ browser, server, expects: /503|Failed to load/ }, async (page) => {
        await signIn(page, 'admin', '/nodes');
        await page.getByText('1 server', { exact: true }).waitFor();
        await page.route('**/api/v2/nodes', (route) =>
          route.fulfill({
            ...{ status: 503, contentType: 'application/problem+json' },
            body: JSON.stringify({ type: 'urn:dundun:problem:storage', title: 'x', status: 503, detail: 'x' }),
          }),
        );
        await page.getByRole('alert').waitFor();
        await page.getByText('field-1').waitFor();
        await assertAccessible(page);
        await page.unroute('**/api/v2/nodes');
        await page.getByRole('button', { name: 'Try again' }).click();
        await page.getByRole('alert').waitFor({ state: 'detached' });
      });
    });
  });
});
