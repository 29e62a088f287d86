// The bounds of memory add up to at most the documented maximum.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from './limits.ts';
import { boundsOfOneThing, type LimitName, memoryParts, memorySum } from './memory-budget.ts';

const placed = new Set<LimitName>(memoryParts(limits).flatMap(({ of }) => of));
const single = boundsOfOneThing.flatMap(({ of }) => of);

test('all that callers can make grow, at its bounds at once, takes no more memory than is promised', (t) => {
  const mib = (bytes: number) => Math.round(bytes / 2 ** 20);
  for (const { what, bytes } of memoryParts(limits)) t.diagnostic(`${mib(bytes)} MiB: ${what}`);
  const sum = memorySum(limits);
  t.diagnostic(`${mib(sum)} MiB in all`);
  assert.ok(sum <= limits.processBytesMax, `${mib(sum)} MiB are more than ${mib(limits.processBytesMax)}`);
});

test('a bound of memory that is raised raises the sum, or is within one that does', () => {
  const within = memoryParts(limits).filter(({ what }) => /^what is (on its way|remembered)/.test(what));
  const shared = new Set(within.flatMap(({ of }) => of).filter((name) => !/^(passing|remembered)/.test(name)));
  for (const name of placed) {
    // What is measured is in the process at rest; sealing begins below what the head holds.
    if (shared.has(name) || /^(pageCache|threadYoung|sealText)/.test(name)) continue;
    const raised = memorySum({ ...limits, [name]: (limits[name] as number) + 2 ** 20 });
    assert.ok(raised > memorySum(limits), `${name} counts for nothing`);
  }
});

test('every bound in bytes or characters has a place in the sum, or bounds one thing', () => {
  for (const name of Object.keys(limits) as LimitName[]) {
    if (!/(Bytes|Chars)(All)?(Max|Reserve)$/.test(name)) continue;
    assert.ok(placed.has(name) !== single.includes(name), `${name}: memory-budget.ts has it in no place, or in two`);
  }
});

test('what shares one memory has bounds of its own within it', () => {
  const { passingBytesMax, passingBytesReserve } = limits;
  const pairs = [
    [limits.receivedBytesMax, limits.receivedBytesReserve],
    [limits.answerBytesMax, limits.answerBytesReserve],
    [limits.liveBytesAllMax, limits.liveBytesReserve],
    [limits.queueBytesMax, limits.queueBytesReserve],
    [limits.capacityWaiterBytesMax, limits.capacityWaiterBytesReserve],
    [limits.unreadBytesMax, limits.unreadBytesReserve],
    [limits.backlogBytesMax, limits.backlogBytesReserve],
  ] as const;
  for (const [max, reserve] of pairs) {
    assert.ok(max <= passingBytesMax);
    assert.ok(max + reserve <= passingBytesMax + passingBytesReserve);
  }
});

test('what is remembered and cannot be forgotten leaves room for the caches', () => {
  const lasting = limits.ruleBytesMax + limits.liveFilterBytesMax + limits.storedSessionBytesMax;
  assert.ok(limits.rememberedBytesMax - lasting >= 64 * 2 ** 20);
  // A large fleet whose devices and topics are all in use.
  assert.ok(limits.directoryBytesMax + limits.topicsCachedBytesMax <= limits.rememberedBytesMax);
});
