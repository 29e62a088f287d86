// Notifications in a browser: the editor's sentence and its expression, the dry run over history, refusals of the
// server, the list with its actions, and the outbox with reasons.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  assertAccessible,
  assertFitsScreen,
  inTimeToUndo,
  launchBrowser,
  screens,
  signIn,
  skip,
  visit,
} from '../support/dashboard.ts';
import { buildWhereStale } from '../support/dashboard-build.ts';
import { TestServer } from '../support/test-server.ts';

const evil = `<img src=x onerror="document.title='broken in'"><script>document.title='broken in'</script>`;
const hourMs = 3_600_000;

describe('in a browser, notifications', { skip }, () => {
  let server: TestServer;
  let browser: Browser;

  before(async () => {
    buildWhereStale();
    server = await TestServer.start();
    browser = await launchBrowser();
    const sensors = [
      { id: 'TC', name: 'Soil temperature', unit: '°C' },
      { id: 'RH', name: 'Humidity', unit: '%' },
    ];
    await server.call('owner', 'POST', '/devices', { json: { id: 'field-3', name: 'Field 3', sensors } });
    const at = (hours: number) => new Date(server.clock.now() - hours * hourMs).toISOString();
    // Two frosts, of ten hours each.
    const frosty = (n: number) => n % 240 < 10;
    const values = Array.from({ length: 480 }, (_, n) => ({ value: frosty(n) ? -1 : 12, timestamp: at(479 - n) }));
    await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: values });
  });
  after(async () => {
    await browser.close();
    await server.stop();
  });

  const make = (fields: object, as = 'owner') =>
    server.call(as, 'POST', '/notifications', {
      json: {
        condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<2' },
        action: { usernames: ['owner'], channels: ['none'], message: '{id} is {TC}' },
        ...fields,
      },
    });
  const listed = async () => (await server.call('owner', 'GET', '/notifications')).body as Record<string, unknown>[];
  const switches = (page: Page, name: string) => page.getByRole('switch', { name: `${name}: on or paused` });

  test('are made by filling in a sentence, which says what it would have sent', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/notifications');
      await page.getByText('No notification yet.').waitFor();
      await assertAccessible(page);
      await page.goto('/notifications/new?device=field-3&sensor=TC');
      await page.getByRole('button', { name: 'Devices: Field 3' }).waitFor();
      await page.getByLabel('Value', { exact: true }).fill('2');
      assert.equal(await page.getByLabel('The same as an expression').inputValue(), 'TC<2');
      await page.getByLabel('Time between two messages', { exact: true }).fill('1');
      await page.getByLabel('Time between two messages: unit').selectOption('d');
      await page.getByRole('button', { name: /Ways of telling/ }).click();
      await page.getByRole('checkbox', { name: 'record only' }).check();
      await page.getByRole('checkbox', { name: 'e-mail' }).uncheck();
      await page.keyboard.press('Escape');
      await page.getByText('2 messages', { exact: true }).waitFor();
      await page.getByText('Field 3: -1 °C').first().waitFor();
      await page.locator('.u-wrap canvas').waitFor();
      await assertAccessible(page);
      await page.getByRole('button', { name: 'only when it lasts' }).click();
      await page.getByLabel('How long it must hold', { exact: true }).fill('11');
      await page.getByLabel('How long it must hold: unit').selectOption('h');
      await page.getByText('0 messages', { exact: true }).waitFor();
      await page.getByLabel('How long it must hold', { exact: true }).fill('3');
      await page.getByText('2 messages', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'tell when it is over' }).click();
      await page.getByRole('button', { name: 'again only after recovery' }).click();
      await page.getByLabel('What must be true before it is sent again').fill('TC>4');
      await page.getByRole('button', { name: 'only until a date' }).click();
      await page.getByLabel('Until when').fill('2036-06-08T18:20');
      await page.getByLabel('What to call it').fill('Frost');
      await page.getByRole('button', { name: 'Create notification' }).click();
      await page.waitForURL('/notifications');
      await page.getByRole('link', { name: 'Frost' }).waitFor();
    });
    const [{ id, ...rule } = {}] = await listed();
    assert.partialDeepStrictEqual(rule, {
      description: 'Frost',
      condition: { devices: ['field-3'], sensors: ['TC'], expression: 'TC<2' },
      action: { usernames: ['owner'], channels: ['none'], message: '{device}: {value} {unit}' },
      ...{ for: 10_800, throttling: 86_400, hysteresis: 'TC>4', recovery_message: '{id} is well again.' },
    });
    assert.match(String(rule['expires']), /^2036-06-08T/);
    await server.call('owner', 'DELETE', `/notifications/${id}`);
  });

  test('are one rule as a sentence and as an expression, and what the server refuses stands beside it', async () => {
    const { text: id } = await make({ description: 'Both ways' });
    await visit({ browser, server, expects: /400/ }, async (page) => {
      await signIn(page, 'owner', `/notifications/${id}`);
      const expression = page.getByLabel('The same as an expression');
      await expression.fill('TC>=30;RH==40..60');
      assert.equal(await page.getByLabel('Comparison').nth(0).inputValue(), '>=');
      assert.equal(await page.getByLabel('Value', { exact: true }).nth(0).inputValue(), '30');
      assert.equal(await page.getByLabel('Comparison').nth(1).inputValue(), 'between');
      assert.equal(await page.getByLabel('Upper end').inputValue(), '60');
      await page.getByLabel('Value', { exact: true }).nth(0).fill('31,5');
      assert.equal(await expression.inputValue(), 'TC>=31.5;RH==40..60');
      await expression.fill('(TC<2||RH>80);TC<');
      await page
        .getByText(/cannot be read at column 18: expected a number/)
        .first()
        .waitFor();
      await page.getByText('this holds:').waitFor();
      await page.getByRole('button', { name: 'What may stand here?' }).click();
      await assertAccessible(page);
      await expression.fill('TC<1||RH>80');
      await page
        .getByText(/cannot be read/)
        .first()
        .waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL('/notifications');
    });
    const [rule] = await listed();
    assert.deepEqual(rule?.['condition'], { devices: ['field-3'], sensors: ['TC', 'RH'], expression: 'TC<1||RH>80' });
    await server.call('owner', 'DELETE', `/notifications/${id}`);
  });

  test('ask for what is missing before they are sent', async () => {
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', '/notifications/new');
      await page.getByLabel('Message', { exact: true }).fill('');
      await page.keyboard.press('Tab');
      await page.getByText('Write what is said.').waitFor();
      await page.getByRole('button', { name: 'Create notification' }).click();
      await page.getByText('Choose at least one device.').waitFor();
      await page.getByText('Write what is said.').waitFor();
      await page.getByRole('button', { name: 'Devices: choose a device' }).click();
      await page.getByLabel('Find a device').fill('fiel');
      await page.getByRole('checkbox', { name: 'Field 3' }).check();
      await page.keyboard.press('Escape');
      await page.getByText('Choose at least one device.').waitFor({ state: 'detached' });
      await page.getByLabel('Sensor', { exact: true }).selectOption('RH');
      await page.getByRole('button', { name: 'when it falls silent' }).click();
      await page.getByRole('button', { name: 'Take this condition away' }).click();
      await page.getByText('has sent nothing for').waitFor();
      await page.getByText('Choose a sensor and fill in the value.').waitFor({ state: 'detached' });
    });
  });

  test('say of a failure why and what to do, are paused, and deleted with a way back', async () => {
    const { text: id } = await make({
      description: 'Goes nowhere',
      throttling: 7_200,
      action: { usernames: ['nobody-here', 'owner'], channels: ['sms'], message: evil },
    });
    await server.call('owner', 'POST', '/devices/field-3/sensors/TC/values', { json: { value: -3 } });
    await server.running.idle();
    await visit({ browser, server }, async (page) => {
      await page.clock.install({ time: server.clock.now() });
      await signIn(page, 'owner', '/notifications');
      const row = page.getByRole('listitem').filter({ hasText: 'Goes nowhere' });
      await row.getByText('reaches nobody', { exact: true }).filter({ visible: true }).waitFor();
      await row.getByText('no provider is set up for sms. Who runs this service').waitFor();
      await row.getByText(/^in \d hr$/).waitFor();
      await assertAccessible(page);
      await switches(page, 'Goes nowhere').press('Space');
      await row.getByText('paused', { exact: true }).filter({ visible: true }).waitFor();
      assert.equal((await listed())[0]?.['status'], 'inactive');
      await inTimeToUndo(page, async () => {
        await row.getByRole('button', { name: 'Delete Goes nowhere' }).click();
        await row.waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Undo' }).click();
      });
      await row.waitFor();
      assert.equal((await listed()).length, 1);

      await page.getByText('Outbox').click();
      await page.waitForURL('/notifications?view=outbox');
      await page.getByText('no such user').waitFor();
      assert.equal(await page.getByText('<img src=x').count(), 2);
      assert.equal(await page.locator('img[src=x]').count(), 0);
      await assertAccessible(page);
      await page.getByText('undelivered', { exact: true }).first().click();
      await page.waitForURL('/notifications?view=outbox&status=undelivered');
      await page.getByText('no such user').waitFor({ state: 'detached' });
      await page.getByText('Rules').click();
      await row.getByRole('button', { name: 'Delete Goes nowhere' }).click();
      const deleted = page.waitForResponse((answer) => answer.request().method() === 'DELETE' && answer.ok());
      await page.clock.runFor(9_000);
      assert.match((await deleted).url(), new RegExp(String(id)));
    });
    assert.deepEqual(await listed(), []);
  });

  test('tell of a sensor that does not arrive: made as a sentence, fired by time alone, shown where one looks', async () => {
    const sensors = [{ id: 'level', name: 'Water level', unit: 'cm' }];
    await server.call('owner', 'POST', '/devices', { json: { id: 'well-1', name: 'Well 1', sensors } });
    const push = () => server.call('owner', 'POST', '/devices/well-1/sensors/level/values', { json: { value: 80 } });
    await push();
    // The clock is turned beyond the time of a token, which is renewed.
    await visit({ browser, server, expects: /401/ }, async (page) => {
      await signIn(page, 'owner', '/notifications/new?device=well-1&sensor=level');
      await page.getByRole('button', { name: 'Devices: Well 1' }).waitFor();
      await page.getByRole('button', { name: 'when it falls silent' }).click();
      await page.getByRole('button', { name: 'Take this condition away' }).click();
      await page.getByText('has sent nothing for').waitFor();
      await page.getByLabel('How long it may be silent', { exact: true }).fill('2');
      await page.getByLabel('How long it may be silent: unit').selectOption('h');
      await page.getByRole('button', { name: /Ways of telling/ }).click();
      await page.getByRole('checkbox', { name: 'record only' }).check();
      await page.getByRole('checkbox', { name: 'e-mail' }).uncheck();
      await page.keyboard.press('Escape');
      await page.getByLabel('What to call it').fill('Well is silent');
      await assertAccessible(page);
      await page.getByRole('button', { name: 'Create notification' }).click();
      await page.waitForURL('/notifications');
      const [{ id, condition, silence } = {}] = await listed();
      assert.deepEqual([condition, silence], [{ devices: ['well-1'], sensors: ['level'], expression: '' }, 7_200]);
      const timesSent = async () => {
        await server.running.idle();
        return (await server.call('owner', 'GET', `/notifications/${id}`)).body.times_sent;
      };
      server.clock.advance(hourMs);
      await push();
      server.clock.advance(1.5 * hourMs);
      assert.equal(await timesSent(), 0);
      server.clock.advance(hourMs);
      assert.equal(await timesSent(), 1);
      await page.goto('/notifications?view=outbox');
      await page.getByRole('main').getByText('Well 1: 80 cm').first().waitFor();
      // On the first page it is what is wrong now, and no longer when the sensor is heard.
      await page.goto('/now');
      await page.getByRole('main').getByText('Well is silent').first().waitFor();
      await push();
      await page.getByRole('main').getByText('Well is silent').first().waitFor({ state: 'detached' });
      assert.equal(await timesSent(), 1);
      await server.call('owner', 'DELETE', `/notifications/${id}`);
    });
  });

  test('keep every sensor that is watched for its silence when they are edited', async () => {
    const condition = { devices: ['field-3'], sensors: ['TC', 'RH'] };
    const { text: id } = await make({ description: 'Dead battery', condition, silence: 7_200 });
    const both = { ...condition, expression: 'TC<2' };
    const { text: other } = await make({ description: 'Frost or dead', condition: both, silence: 7_200 });
    const sensorsOf = async (of: string | undefined) => {
      const rule = (await server.call('owner', 'GET', `/notifications/${of}`)).body;
      return rule.condition.sensors;
    };
    await visit({ browser, server }, async (page) => {
      await signIn(page, 'owner', `/notifications/${id}`);
      const sensors = page.getByRole('combobox', { name: 'Sensor' });
      await sensors.nth(1).waitFor();
      assert.deepEqual([await sensors.nth(0).inputValue(), await sensors.nth(1).inputValue()], ['TC', 'RH']);
      await page.getByRole('textbox', { name: 'What to call it' }).fill('Dead batteries');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL('/notifications');
      assert.deepEqual(await sensorsOf(id), ['TC', 'RH']);
      await page.goto(`/notifications/${other}`);
      await page.getByText('or when it or').waitFor();
      await page.getByRole('textbox', { name: 'Value' }).fill('1');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL('/notifications');
      assert.deepEqual(await sensorsOf(other), ['TC', 'RH']);
      await page.goto(`/notifications/${id}`);
      await page.getByRole('button', { name: 'RH may be silent' }).click();
      await page.getByRole('button', { name: 'Save' }).click();
      await page.waitForURL('/notifications');
      assert.deepEqual(await sensorsOf(id), ['TC']);
    });
    for (const one of [id, other]) await server.call('owner', 'DELETE', `/notifications/${one}`);
  });

  for (const [screen, options] of Object.entries(screens)) {
    test(`have no fault on ${screen}, whatever strangers wrote`, async () => {
      const { text: id } = await make({
        description: `${evil} ${'long '.repeat(30)}`,
        condition: { devices: ['field-3', 'x'.repeat(200)], sensors: ['TC'], expression: '(TC<2||RH>80);TC<5' },
        ...{ silence: 3_600, for: 60, hysteresis: 'TC>4', recovery_message: evil, expires: '2036-06-08T18:20:27Z' },
      });
      await visit({ browser, server, options, expects: /404/ }, async (page) => {
        await signIn(page, 'owner', '/notifications');
        for (const path of [
          '/notifications',
          `/notifications/${id}`,
          '/notifications?view=outbox',
          '/notifications/new',
        ]) {
          await page.goto(path);
          await page
            .getByRole('main')
            .getByText(/otification|Outbox|img src/)
            .first()
            .waitFor();
          await assertAccessible(page);
          await assertFitsScreen(page);
          assert.equal(await page.locator('img[src=x]').count(), 0);
          assert.doesNotMatch(await page.title(), /broken in$/);
        }
      });
      await server.call('owner', 'DELETE', `/notifications/${id}`);
    });
  }
});
