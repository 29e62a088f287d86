// Deleting and correcting stored values in a browser: chosen on the chart by mouse, finger or press, or by fields; how many
// are meant and why is said, there is no way back, and what is shown follows at once.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  becomes,
  desktop,
  launchBrowser,
  phone,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const in2030 = '2030-05-01T10:00:00Z';

describe('in a browser, stored values', { skip }, () => {
  let server: TestServer;
  let browser: Browser;
  let devices = 0;
  let device = '';

  before(async () => {
    buildWhereStale();
    server = await TestServer.start({ DUNDUN_LOG_LEVEL: 'info' });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  /** A day of values, one every ten minutes: 20, 21 … 29, 20 …; the last one just now. */
  beforeEach(async () => {
    devices += 1;
    device = `field-${devices}`;
    const sensors = [{ id: 'TC', name: 'Soil', unit: '°C' }, { id: 'twice' }, { id: 'long' }];
    await server.call('owner', 'POST', '/devices', { json: { id: device, name: 'Field', sensors } });
    await push(
      'TC',
      Array.from({ length: 144 }, (_, n) => ({ value: 20 + (n % 10), timestamp: at(n - 143) })),
    );
  });

  /** So many times ten minutes from now. */
  const at = (tens: number) => new Date(server.clock.now() + tens * 600_000).toISOString();
  const push = async (sensor: string, json: unknown) => {
    const answer = await server.call('owner', 'POST', `/devices/${device}/sensors/${sensor}/values`, { json });
    assert.equal(answer.status, 204, answer.text);
  };
  const stored = async (sensor = 'TC'): Promise<readonly { readonly value: unknown; readonly timestamp: string }[]> =>
    (await server.call('owner', 'GET', `/devices/${device}/sensors/${sensor}/values?limit=3000`)).body;
  const path = (sensor = 'TC', query = '?span=24h&edit=true') => `/devices/${device}/sensors/${sensor}${query}`;
  const audits = () => server.logged.filter(({ msg }) => /^audit: .*datapoint/.test(msg)) as readonly object[];
  const panel = (page: Page) => page.getByRole('region', { name: 'Delete or correct values' });
  const count = async (page: Page, text: string) =>
    page
      .getByLabel('The span in figures')
      .locator('div')
      .filter({ hasText: 'Datapoints' })
      .getByText(text, { exact: true })
      .waitFor();
  const drawn = (page: Page) => becomes(page, `document.querySelector('.uplot')?.dataset.drawn > 100`);

  /** In local time, as such a field has it; the browser of the tests is in the zone of the machine. */
  const fieldText = (page: Page, tens: number) =>
    page.evaluate(`(() => {
      const at = new Date(${server.clock.now() + tens * 600_000});
      return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
    })()`) as Promise<string>;

  async function drag(page: Page, from: number, to: number): Promise<void> {
    await drawn(page);
    const box = await page.locator('.u-over').boundingBox();
    assert.ok(box !== null);
    await page.mouse.move(box.x + box.width * from, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 70, { steps: 4 });
    await page.mouse.up();
  }

  test('are chosen by dragging over the chart, and deleted once it is said why', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', path('TC', '?span=24h'));
      await page.getByRole('button', { name: 'More about this sensor' }).click();
      await page.getByRole('menuitem', { name: 'Delete or correct values' }).click();
      await page.waitForURL(/edit=true/);
      await drag(page, 0.25, 0.5);
      const said = await panel(page).getByRole('status').innerText();
      const meant = Number(/^(\d+) datapoints in this span$/.exec(said)?.[1]);
      assert.ok(meant >= 35 && meant <= 37, said);
      assert.equal(await panel(page).locator('tbody tr').count(), meant);
      // The chart chooses and does not zoom.
      assert.equal(new URL(page.url()).searchParams.has('from'), false);
      await panel(page)
        .getByRole('button', { name: `Delete ${meant} datapoints` })
        .click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(`Delete ${meant} datapoints?`).waitFor();
      await dialog.getByText(/^Of Soil, from .*UTC\) to .*UTC\)\.$/).waitFor();
      await dialog.getByText('this cannot be undone').waitFor();
      await dialog.getByRole('button', { name: 'Delete for good' }).click();
      await dialog.getByText('A word or two').waitFor();
      assert.equal((await stored()).length, 144);
      await dialog.getByLabel('Why').fill('  Out of the ground ');
      await dialog.getByRole('button', { name: 'Delete for good' }).click();
      await page.getByText(`${meant} datapoints are deleted.`).waitFor();
      await count(page, String(144 - meant));
      await panel(page).getByText('No datapoint lies in this span.').waitFor();
      assert.equal((await stored()).length, 144 - meant);
      const last = audits().at(-1) as { readonly reason: string; readonly datapoints: number };
      assert.deepEqual([last.reason, last.datapoints], ['Out of the ground', meant]);
      await panel(page).getByRole('button', { name: 'Done' }).click();
      await page.waitForURL((url) => !url.searchParams.has('edit'));
      assert.equal(await panel(page).count(), 0);
    });
  });

  test('are chosen by keys alone, from when to when, each with a way to correct and delete it', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', path());
      await page.getByText('29').first().waitFor();
      await panel(page)
        .getByLabel('From')
        .fill(await fieldText(page, -1));
      await panel(page)
        .getByLabel('To')
        .fill(await fieldText(page, -2));
      await panel(page).getByText('It must not end before it begins.').waitFor();
      assert.equal(await panel(page).getByRole('status').count(), 0);
      await panel(page)
        .getByLabel('To')
        .fill(await fieldText(page, 0));
      await panel(page).getByText('2 datapoints in this span').waitFor();
      // The last value, which is 23.
      const correct = panel(page).getByRole('button', { name: /^Correct 23 °C of/ });
      await correct.focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await dialog.getByText(/^It is 23 °C, /).waitFor();
      await dialog.getByLabel('Right value').fill('warm');
      await dialog.getByRole('button', { name: 'Correct for good' }).click();
      await dialog.getByText('A number is needed.').waitFor();
      await dialog.getByText('A word or two').waitFor();
      await dialog.getByLabel('Right value').fill('23');
      await dialog.getByText('This is what it is already.').waitFor();
      await dialog.getByLabel('Right value').fill('42,5');
      await dialog.getByLabel('Why').fill('Wrong decimal');
      await page.keyboard.press('Enter');
      await page.getByText('The value is corrected.').waitFor();
      // The last value of the page, the figures and the table follow.
      await page.locator('[data-size=page]').getByText('42.5').waitFor();
      await page.getByLabel('The span in figures').getByText('42.5').first().waitFor();
      await panel(page)
        .getByRole('button', { name: /^Delete 42.5 °C of/ })
        .focus();
      await page.keyboard.press('Enter');
      await dialog.getByText('Delete 1 datapoint?').waitFor();
      await dialog.getByText(/^Of Soil: 42.5 °C, /).waitFor();
      // A dialog takes the focus a moment after it is drawn.
      await becomes(page, `document.activeElement?.matches('[role=dialog] input, [role=dialog] textarea')`);
      await page.keyboard.type('Not a soil');
      await page.keyboard.press('Enter');
      await page.getByText('1 datapoint is deleted.').waitFor();
      await page.locator('[data-size=page]').getByText('22', { exact: true }).waitFor();
      await page.goto(`/devices/${device}`);
      await page.getByRole('link', { name: /Soil/ }).first().getByText('22', { exact: true }).waitFor();
      assert.deepEqual((await stored()).map(({ value }) => value).slice(-2), [21, 22]);
      assert.equal((audits().at(-1) as { readonly reason: string }).reason, 'Not a soil');
    });
  });

  test('are chosen by a press on a point of the chart, one alone', async () => {
    for (const options of [desktop, phone]) {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', path());
        await drawn(page);
        const box = await page.locator('.u-over').boundingBox();
        assert.ok(box !== null);
        const [x, y] = [box.x + box.width * 0.5, box.y + 40];
        await (options === phone ? page.touchscreen.tap(x, y) : page.mouse.click(x, y));
        await panel(page).getByText('1 datapoint in this span').waitFor();
        assert.equal(await panel(page).locator('tbody tr').count(), 1);
      });
    }
  });

  test('are chosen with a finger on a phone, while two still zoom', async () => {
    await visit({ browser, server, options: phone }, async (page) => {
      await signIn(page, 'owner', path());
      await drawn(page);
      const over = page.locator('.u-over');
      const box = await over.boundingBox();
      assert.ok(box !== null);
      const finger = (part: number) => [
        { identifier: 0, clientX: (box?.x ?? 0) + (box?.width ?? 0) * part, clientY: (box?.y ?? 0) + 40 },
      ];
      await over.dispatchEvent('touchstart', { touches: finger(0.5), bubbles: true });
      await over.dispatchEvent('touchmove', { touches: finger(0.25), bubbles: true, cancelable: true });
      await over.dispatchEvent('touchend', { touches: [], bubbles: true });
      await panel(page)
        .getByText(/^3[5-7] datapoints in this span$/)
        .waitFor();
      assert.equal(new URL(page.url()).searchParams.has('from'), false);
      const two = (apart: number) => [...finger(0.5 - apart), ...finger(0.5 + apart)];
      await over.dispatchEvent('touchstart', { touches: two(0.1), bubbles: true });
      await over.dispatchEvent('touchmove', { touches: two(0.3), bubbles: true, cancelable: true });
      await over.dispatchEvent('touchend', { touches: [], bubbles: true });
      await page.waitForURL(/from=/);
      await panel(page)
        .getByText(/^3[5-7] datapoints in this span$/)
        .waitFor();
    });
  });

  test('that share a moment are told apart, and what cannot be told apart says so', async () => {
    await push('twice', [
      { value: 1, timestamp: at(-1) },
      { value: 2, timestamp: at(-1) },
      { value: 2, timestamp: at(-1) },
    ]);
    await visit({ browser, server, expects: /422/ }, async (page) => {
      await signIn(page, 'owner', path('twice'));
      await panel(page).getByRole('button', { name: 'All that is shown' }).click();
      await panel(page).getByText('3 datapoints in this span').waitFor();
      await panel(page)
        .getByRole('button', { name: /^Correct 1 of/ })
        .click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Right value').fill('5');
      await dialog.getByLabel('Why').fill('twice');
      await dialog.getByRole('button', { name: 'Correct for good' }).click();
      await dialog.getByRole('alert').getByText(/share/).waitFor();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'hidden' });
      await panel(page)
        .getByRole('button', { name: /^Delete 2 of/ })
        .first()
        .click();
      await dialog.getByText('Delete 2 datapoints?').waitFor();
      await dialog.getByLabel('Why').fill('twice');
      await dialog.getByRole('button', { name: 'Delete for good' }).click();
      await page.getByText('2 datapoints are deleted.').waitFor();
      assert.deepEqual(
        (await stored('twice')).map(({ value }) => value),
        [1],
      );
    });
  });

  test('are many only when the id is typed, and say what it does to notifications', async () => {
    await push(
      'long',
      Array.from({ length: 1_200 }, (_, n) => ({ value: n, timestamp: at(-n / 10) })),
    );
    const condition = { devices: [device], sensors: ['long'], expression: 'long>5000' };
    const action = { usernames: ['owner'], channels: ['none'], message: '{long}' };
    await server.call('owner', 'POST', '/notifications', { json: { condition, action } });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', path('long'));
      await panel(page).getByRole('button', { name: 'All that is shown' }).click();
      await panel(page).getByText('The first 50 of them:').waitFor();
      await panel(page).getByRole('button', { name: 'Delete 1,200 datapoints' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(/1 notification watches this sensor/).waitFor();
      await dialog.getByLabel('Why').fill('a test');
      const act = dialog.getByRole('button', { name: 'Delete for good' });
      assert.equal(await act.isDisabled(), true);
      await dialog.getByLabel('Type long to confirm').fill('long');
      await act.click();
      await page.getByText('1,200 datapoints are deleted.').waitFor();
      assert.deepEqual(await stored('long'), []);
      await page.getByText('no value yet').first().waitFor();
    });
  });

  test('that are dated in the future are deleted from where they are told', async () => {
    await push('TC', { value: 99, timestamp: in2030 });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', path('TC', '?span=24h'));
      const notice = page.getByRole('complementary', { name: 'Dated in the future' });
      await notice.getByRole('button', { name: 'Delete or correct' }).click();
      await page.waitForURL(/from=2030.*edit=true|edit=true.*from=2030/);
      await panel(page).getByText('1 datapoint in this span').waitFor();
      await panel(page).getByRole('button', { name: 'Delete 1 datapoint …' }).click();
      await page.getByRole('dialog').getByLabel('Why').fill('Clock not set');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
      await page.getByText('1 datapoint is deleted.').waitFor();
      await notice.waitFor({ state: 'hidden' });
      assert.equal((await stored()).length, 144);
    });
  });

  test('are not offered to who may not change the device', async () => {
    await server.call('owner', 'PUT', `/devices/${device}/shares/stranger`, {
      json: { scopes: ['device:view', 'device-data:view', 'device-data:create'] },
    });
    await push('TC', { value: 99, timestamp: in2030 });
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'stranger', path());
      await drawn(page);
      await page
        .getByRole('complementary', { name: 'Dated in the future' })
        .getByRole('button', { name: 'Show' })
        .waitFor();
      assert.equal(await panel(page).count(), 0);
      assert.equal(await page.getByRole('button', { name: 'Delete or correct' }).count(), 0);
      assert.equal(await page.getByRole('button', { name: 'More about this sensor' }).count(), 0);
    });
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`are chosen without a fault on ${screen}`, async () => {
      await visit({ browser, server, options }, async (page) => {
        await signIn(page, 'owner', path());
        await panel(page).getByRole('button', { name: 'All that is shown' }).click();
        await panel(page)
          .getByText(/datapoints in this span/)
          .waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
        await panel(page)
          .getByRole('button', { name: /^Correct / })
          .first()
          .click();
        await page.getByRole('dialog').getByLabel('Right value').waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
        await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
        await page.getByRole('dialog').waitFor({ state: 'hidden' });
        await panel(page)
          .getByRole('button', { name: /^Delete \d+ datapoints/ })
          .click();
        await page.getByRole('dialog').getByLabel('Why').waitFor();
        await assertAccessible(page);
        await assertFitsScreen(page);
      });
    });
  }
});
