// The bounds of memory add up to at most the ceiling that they are made for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LimitName, limits } from './limits.ts';
import { boundsOfOneThing, memoryParts, memorySum } from './memory-budget.ts';
import { limitsFor, memoryBytesDefault, memoryBytesLarge, memoryBytesMin } from './memory-profile.ts';

type Bounds = { readonly [N in LimitName]: (typeof limits)[N] extends number ? number : (typeof limits)[N] };

/** Measured: what the main thread's heap holds at rest. */
const restHeapBytes = 48 * 2 ** 20;
const placed = new Set<LimitName>(memoryParts(limits).flatMap(({ of }) => of));
const single = boundsOfOneThing.flatMap(({ of }) => of);

/** What the launcher gives the main thread's heap of a ceiling (bin/heap.js). */
const heapShareOf = (bytes: number) => (bytes <= memoryBytesMin ? 0.33 : bytes < 384 * 2 ** 20 ? 0.4 : 0.5);

const mib = (bytes: number) => Math.round(bytes / 2 ** 20);

const ceilings = [
  { name: '256 MB', bytes: memoryBytesMin },
  { name: '384 MB', bytes: 384e6 },
  { name: '512 MiB, the default', bytes: memoryBytesDefault },
  { name: '768 MiB', bytes: 768 * 2 ** 20 },
  { name: '1 GiB', bytes: memoryBytesLarge },
];

for (const { name, bytes } of ceilings) {
  const bounds = { ...limits, ...limitsFor(bytes) };
  test(`all that callers can make grow, at its bounds at once, takes no more than a ceiling of ${name}`, (t) => {
    for (const part of memoryParts(bounds)) t.diagnostic(`${mib(part.bytes)} MiB: ${part.what}`);
    const sum = memorySum(bounds);
    t.diagnostic(`${mib(sum)} MiB in all`);
    assert.ok(sum <= bytes, `${mib(sum)} MiB are more than ${mib(bytes)}`);
  });

  test(`what lies on the heap of the main thread fits, beside the program, into the heap that a ceiling of ${name} gives it`, () => {
    const heap = memoryParts(bounds).reduce((sum, part) => (part.isHeap === true ? sum + part.bytes : sum), 0);
    const heapMib = mib(bytes * heapShareOf(bytes));
    assert.ok(mib(heap + restHeapBytes) <= heapMib, `${mib(heap)} MiB beside ${mib(restHeapBytes)} of ${heapMib}`);
  });

  test(`what shares one memory has bounds of its own within it, under a ceiling of ${name}`, () => holdShared(bounds));
}

test('bounds are those of the list at 1 GiB, and grow with the ceiling', () => {
  const usual = limitsFor(memoryBytesLarge);
  const small = limitsFor(memoryBytesMin);
  const middle = limitsFor(memoryBytesDefault);
  for (const name of Object.keys(usual) as (keyof typeof usual)[]) {
    assert.equal(usual[name], limits[name], name);
    assert.ok(small[name] <= middle[name] && middle[name] <= usual[name], name);
  }
  assert.deepEqual({ ...limitsFor(4e9), processBytesMax: 0 }, { ...usual, processBytesMax: 0 });
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

/** Each kind of what shares a memory has its own bound within it; a large push fits into the queue, and rules leave room. */
function holdShared(limits: Bounds): void {
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
  assert.ok(limits.pushDatapointsMax * 2 <= limits.queueDatapointsMax);
  assert.ok(limits.sealRowsMin <= limits.sealRowsMax && limits.sealRowsMax < limits.headRowsMax);
  assert.ok(limits.sealTextCharsMax < limits.headTextCharsMax);
  const lasting = limits.ruleBytesMax + limits.liveFilterBytesMax + limits.storedSessionBytesMax;
  assert.ok(limits.rememberedBytesMax - lasting >= limits.rememberedBytesMax / 4);
  // A fleet whose devices and topics are all in use.
  assert.ok(limits.directoryBytesMax + limits.topicsCachedBytesMax <= limits.rememberedBytesMax);
}
