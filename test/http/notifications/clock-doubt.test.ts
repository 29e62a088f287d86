// Rules and their messages while the wall clock is wrong (decision 30): neither silence nor a flood.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import type { Sender } from '../../../src/domain/notifications/outbox/sender.ts';
import { make } from '../../support/api/calls.ts';
import { confirmClock, settleClock } from '../../support/clock.ts';
import { TestServer } from '../../support/test-server.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const yearMs = 365 * 24 * hourMs;

let server: TestServer;
let devices = 0;
let d = '';

before(async () => {
  server = await TestServer.start();
});
after(() => server.stop());

beforeEach(async () => {
  await confirmClock(server);
  devices += 1;
  d = `clock-${devices}`;
  const json = { id: d, sensors: [{ id: 's' }, { id: 't' }] };
  await make(server, { as: 'owner', call: 'POST /devices', json, expect: 204 });
});

async function push(value: unknown, sensor = 's'): Promise<void> {
  const call = `POST /devices/${d}/sensors/${sensor}/values`;
  await make(server, { as: 'owner', call, json: { value }, expect: 204 });
}

suite('a rule', () => {
  const add = async (fields: object, expression = 's>0') => {
    const condition = { devices: [d], sensors: ['s'], expression };
    const action = { usernames: ['owner'], channels: ['none'], message: '{s}' };
    const json = { condition, action, ...fields };
    return (await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 })).text;
  };
  const fired = async (id: string): Promise<number> => {
    await server.running.idle();
    return (await server.call('admin', 'GET', `/notifications/${id}`)).body.times_sent;
  };

  for (const [what, recovery] of [
    ['that is throttled', {}],
    ['that is throttled and remembers', { recovery_message: 'well' }],
  ] as const) {
    test(`${what} is not silent after a jump back, nor a flood`, async () => {
      const id = await add({ throttling: 3600, ...recovery });
      await push(1);
      assert.equal(await fired(id), 1);
      server.jump(-yearMs);
      await push(2);
      assert.equal(await fired(id), 1, 'no time has passed');
      server.clock.advance(hourMs);
      await push(3);
      assert.equal(await fired(id), 2);
      await push(4);
      assert.equal(await fired(id), 2);
      server.clock.advance(hourMs);
      await push(5);
      assert.equal(await fired(id), 3);
    });

    test(`${what} fires no more often while the clock jumps to and fro`, async () => {
      const id = await add({ throttling: 3600, ...recovery });
      for (let n = 0; n < 5; n++) {
        await push(1);
        server.jump(yearMs);
        await push(1);
        server.clock.advance(minuteMs);
        server.jump(-yearMs);
        await push(1);
      }
      assert.equal(await fired(id), 1);
      await settleClock(server);
      await push(1);
      assert.equal(await fired(id), 1);
      server.clock.advance(hourMs);
      await push(1);
      assert.equal(await fired(id), 2);
    });

    test(`${what} fires where it last fired later than now, by what is stored`, async () => {
      const id = await add({ throttling: 3600, ...recovery });
      server.jump(yearMs);
      await push(1);
      assert.equal(await fired(id), 1);
      server.jump(-yearMs);
      await server.restart();
      await push(1);
      assert.equal(await fired(id), 2);
      await push(1);
      assert.equal(await fired(id), 2);
    });
  }

  test('does not expire because the clock is ahead for a minute, but when its time has come', async () => {
    const id = await add({ expires: new Date(server.clock.now() + 10 * minuteMs).toISOString() });
    server.jump(yearMs);
    await push(1);
    assert.equal(await fired(id), 1);
    server.clock.advance(minuteMs);
    server.jump(-yearMs);
    await push(1);
    assert.equal(await fired(id), 2);
    server.clock.advance(9 * minuteMs);
    await push(1);
    assert.equal(await fired(id), 2);
  });

  test('with `silence` says nothing because of a jump, and goes on when the clock is steady', async () => {
    const id = await add({ silence: 600, throttling: 0 }, '');
    await push(1);
    server.jump(yearMs);
    await push(1);
    server.clock.advance(minuteMs);
    assert.equal(await fired(id), 0);
    server.jump(-yearMs);
    await settleClock(server);
    assert.equal(await fired(id), 0);
    server.clock.advance(599_000);
    assert.equal(await fired(id), 0);
    server.clock.advance(1_000);
    assert.equal(await fired(id), 1, 'though the last datapoint seems to come from the next year');
  });

  test('with `for` says nothing because of a jump, and goes on when the clock is steady', async () => {
    const id = await add({ for: 600 });
    server.jump(yearMs);
    await push(1);
    server.clock.advance(minuteMs);
    assert.equal(await fired(id), 0);
    server.jump(-yearMs);
    await push(1);
    await settleClock(server);
    await push(1);
    assert.equal(await fired(id), 0);
    server.clock.advance(600_000);
    assert.equal(await fired(id), 1);
  });
});

suite('a rule that is loaded after the clock was put right', () => {
  for (const [what, fields, expression] of [
    ['`for`', { for: 600 }, 's>0'],
    ['`silence`', { silence: 600, throttling: 0 }, ''],
  ] as const) {
    test(`measures ${what} from now at the latest`, async () => {
      const condition = { devices: [d], sensors: ['s'], expression };
      const action = { usernames: ['owner'], channels: ['none'], message: '{s}' };
      const json = { condition, action, ...fields };
      const { text } = await make(server, { as: 'owner', call: 'POST /notifications', json, expect: 200 });
      server.jump(yearMs);
      await push(1);
      server.jump(-yearMs);
      await server.restart();
      server.jump(0);
      await settleClock(server);
      // With this the next start has no doubt.
      await push(1, 't');
      await server.restart();
      server.clock.advance(600_000);
      await server.running.idle();
      assert.equal((await server.call('admin', 'GET', `/notifications/${text}`)).body.times_sent, 1);
    });
  }
});

suite('a message that is to be sent again', () => {
  test('is, though it was put off while the clock was ahead', async (t) => {
    let tries = 0;
    const send = async () => {
      tries += 1;
      return tries === 1 ? ({ kind: 'retry', reason: 'not now' } as const) : ({ kind: 'sent' } as const);
    };
    const email: Sender = { channel: 'email', perSMax: 9, send };
    const own = await TestServer.start({}, { senders: new Map([['email', email]]) });
    t.after(() => own.stop());
    const condition = { devices: ['d'], sensors: ['s'], expression: 's>0' };
    const action = { usernames: ['owner'], channels: ['email'], message: '{s}' };
    await own.call('owner', 'POST', '/devices', { json: { id: 'd', sensors: [{ id: 's' }] } });
    await own.call('owner', 'POST', '/notifications', { json: { condition, action } });
    own.jump(yearMs);
    await own.call('owner', 'POST', '/devices/d/sensors/s/values', { json: { value: 1 } });
    await own.running.idle();
    assert.equal(tries, 1);
    own.clock.advance(minuteMs);
    own.jump(-yearMs);
    await own.running.idle();
    // The rate of the channel allows the next one.
    own.clock.advance(1_000);
    await own.running.idle();
    assert.equal(tries, 2);
  });
});
