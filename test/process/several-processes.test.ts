// What one of several processes does at a time: it begins where nobody does it, and goes on where the last one stopped.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { DeviceDraft } from '../../src/domain/devices/device.ts';
import type { SendOutcome } from '../../src/domain/notifications/outbox/sender.ts';
import { type JoinedProcess, SeveralProcesses } from '../support/several-processes.ts';
import { until } from '../support/until.ts';

let processes: SeveralProcesses;

beforeEach(async () => {
  processes = await SeveralProcesses.open();
});
afterEach(() => processes.close());

const device: DeviceDraft = {
  id: 'd',
  visibility: 'private',
  sensors: [{ id: 'T', kindName: 'sensor_kind' }],
  actuators: [],
};
const rule = {
  condition: { devices: ['d'], sensors: ['T'], expression: 'T>1' },
  action: { usernames: ['admin'], channels: ['email'], message: '{T}' },
  status: 'active',
  throttlingS: 0,
} as const;

function push({ services, admin }: JoinedProcess, value: number): Promise<void> {
  return services.ingest.accept(admin, { device: 'd', sensor: 'T', readings: [{ value, timestampMs: Number.NaN }] });
}

async function idle({ rules }: JoinedProcess): Promise<void> {
  await rules.watcher.idle();
  await rules.outbox.idle();
}

const textsSent = () => processes.sent.map(({ text }) => text);

test('one process evaluates the rules; when it ends another goes on where it stopped', async () => {
  const first = await processes.join();
  const second = await processes.join();
  await first.services.devices.create(first.admin, device);
  await first.services.notifications.create(first.admin, rule);
  await push(first, 5);
  await idle(first);
  assert.deepEqual(textsSent(), ['5']);
  await push(second, 6);
  await idle(second);
  await idle(first);
  assert.deepEqual(textsSent(), ['5', '6']);
  await first.leave();
  await push(second, 7);
  await until(() => textsSent().includes('7'));
  assert.deepEqual(textsSent(), ['5', '6', '7']);
});

test('what one process commits, the feed of each has at once, in one order', async () => {
  const joined = [await processes.join(), await processes.join(), await processes.join()] as const;
  const [first, second, third] = joined;
  await first.services.devices.create(first.admin, {
    ...device,
    actuators: [{ id: 'valve' }],
  });
  const seen = joined.map(({ feed }) => {
    const values: unknown[] = [];
    feed.subscribe((committed) => {
      if (committed.kind === 'actuator') values.push(`${committed.actuator.id} ${committed.valueJson}`);
      else for (let n = 0; n < committed.readings.length; n += 1) values.push(committed.readings.at(n)?.value);
    });
    return values;
  });
  const pushed = Array.from({ length: 60 }, (_, n) => push(joined[n % 3] as JoinedProcess, n));
  await Promise.all(pushed);
  assert.equal(new Set(seen[0]).size, 60);
  assert.deepEqual(seen[1], seen[0]);
  assert.deepEqual(seen[2], seen[0]);
  await second.services.actuators.setValue(second.admin, 'd', 'valve', 7);
  for (const values of seen) assert.equal(values.at(-1), 'valve 7');
  // Of what was removed meanwhile nobody is told.
  await third.services.devices.remove(third.admin, 'd');
  await assert.rejects(push(first, 61), { code: 'not-found' });
  for (const values of seen) assert.equal(values.length, 61);
});

test('a rule that is changed where others evaluate is evaluated as changed', async () => {
  const first = await processes.join();
  const second = await processes.join();
  await first.services.devices.create(first.admin, device);
  const id = await second.services.notifications.create(second.admin, rule);
  await second.services.notifications.setStatus(second.admin, id, 'inactive');
  await push(second, 5);
  await second.services.notifications.setStatus(second.admin, id, 'active');
  await first.leave();
  await push(second, 6);
  await until(() => textsSent().length > 0);
  assert.deepEqual(textsSent(), ['6']);
});

test('what a process sent whose lease was taken over does not change what the next one notes', async () => {
  const answer = Promise.withResolvers<SendOutcome>();
  const first = await processes.join({ send: () => answer.promise });
  await first.services.devices.create(first.admin, device);
  await first.services.notifications.create(first.admin, rule);
  await push(first, 5);
  await until(() => processes.sent.length === 1);
  const second = await processes.join();
  await first.loseLeases();
  // The second sends it again, because nobody knows what came of it.
  await until(() => processes.sent.length === 2);
  assert.equal(new Set(processes.sent.map(({ id }) => id)).size, 1);
  const { id = '' } = processes.sent[0] ?? {};
  await until(async () => (await second.services.messages.get(second.admin, id)).state === 'sent');
  const before = await second.services.messages.get(second.admin, id);
  answer.resolve({ kind: 'failed', reason: 'late' });
  await first.leave();
  assert.deepEqual(await second.services.messages.get(second.admin, id), before);
  await idle(second);
  assert.equal(processes.sent.length, 2);
});

test('of processes that start at once on new data one makes the first users', async () => {
  const joined = await Promise.all([processes.join(), processes.join(), processes.join()]);
  assert.equal(new Set(joined.map(({ admin }) => admin.userId)).size, 1);
  assert.equal(new Set(joined.map(({ guest }) => guest.id)).size, 1);
});
