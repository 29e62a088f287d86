// Adding and changing the actuators of a device in a browser: nothing that the form does not show is lost.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser, signIn, skip, visit } from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

describe('in a browser, the form of an actuator', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const read = async () => (await server.call('owner', 'GET', '/devices/gated/actuators/gate')).body;

  test('changes an actuator, which keeps its type, and how long a value waits for its gateway', async () => {
    const gate = { id: 'gate', name: 'Gate', actuator_value_type: 'number', valid_for: 60, meta: { side: 'north' } };
    await server.call('owner', 'POST', '/devices', { json: { id: 'gated', actuators: [gate] } });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/devices/gated');
      const edit = async (change: () => Promise<void>) => {
        await page.getByRole('button', { name: 'More about Gate' }).click();
        await page.getByRole('menuitem', { name: 'Edit actuator' }).click();
        await change();
        await page.getByRole('button', { name: 'Save' }).click();
      };
      const goodFor = page.getByRole('textbox', { name: 'Good for (seconds)' });
      await edit(() => page.getByRole('textbox', { name: 'Kind', exact: true }).fill('barrier'));
      await page.getByText('Saved').first().waitFor();
      assert.deepEqual(await read(), { ...gate, actuator_kind: 'barrier' });
      await edit(() => goodFor.fill('half an hour'));
      await page.getByText('A whole number of seconds, or nothing.').waitFor();
      await goodFor.fill('');
      await page.getByRole('button', { name: 'Save' }).click();
      await goodFor.waitFor({ state: 'detached' });
      assert.equal('valid_for' in (await read()), false);
    });
  });
});
