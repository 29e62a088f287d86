import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setLimits } from '../../../test/support/limits.ts';
import { until } from '../../../test/support/until.ts';
import { Refusal } from '../../base/refusal.ts';
import type { Device } from '../../domain/devices/device.ts';
import { DeviceReads } from './device-reads.ts';

setLimits({ deviceReadRetryMsMin: 1, deviceReadRetryMsMax: 2 });

interface Message {
  readonly deviceId: string;
  readonly orderKey: string;
  readonly n: number;
}

/** Reads by `find`, with what may be taken and what was dropped. */
function makeReads(find: (id: string) => Promise<Device | undefined>) {
  const dropped: number[] = [];
  const known = new Set<string>();
  const reads = new DeviceReads<Message>({
    directory: {
      peek: (id) => (known.has(id) ? ({} as Device) : undefined),
      find: async (id) => {
        const device = await find(id);
        if (device !== undefined) known.add(id);
        return device;
      },
    },
    onReady: () => {},
    onDropped: ({ n }) => void dropped.push(n),
  });
  const takeAll = () => {
    const taken: number[] = [];
    for (let next = reads.take(); next !== undefined; next = reads.take()) taken.push(next.n);
    return taken;
  };
  return { reads, dropped, takeAll };
}

const messageOf = (deviceId: string, n: number): Message => ({ deviceId, orderKey: deviceId, n });

test('messages whose device cannot be read for a while go on in their order when it can, and those of others meanwhile', async () => {
  let failures = 3;
  const { reads, dropped, takeAll } = makeReads(async (id) => {
    if (id === 'd' && failures-- > 0) throw new Error('away');
    return {} as Device;
  });
  assert.deepEqual(
    [1, 2].map((n) => reads.holds(messageOf('d', n))),
    [true, true],
  );
  assert.equal(reads.holds(messageOf('e', 3)), true);
  const taken: number[] = [];
  await until(() => taken.push(...takeAll()) >= 3);
  assert.deepEqual(taken, [3, 1, 2]);
  assert.deepEqual([dropped, reads.hasWaiting], [[], false]);
});

test('messages whose device cannot be read for good are dropped at once', async () => {
  const { reads, dropped, takeAll } = makeReads(async () => {
    throw new Refusal('damaged', 'It cannot be read.');
  });
  for (const n of [1, 2]) reads.holds(messageOf('d', n));
  await until(() => dropped.length === 2);
  assert.deepEqual([dropped, takeAll(), reads.hasWaiting], [[1, 2], [], false]);
});

test('when the service stops, what waits for a device that cannot be read is dropped', async () => {
  const { reads, dropped } = makeReads(async () => {
    throw new Error('away');
  });
  reads.holds(messageOf('d', 1));
  reads.close();
  await until(() => dropped.length === 1);
});
