// Every attack beside another one, or with DUNDUN_TEST_LONG=1 alone and then three at a time: nobody else notices (attack.ts says what is
// held). Three at a time are drawn by chance, each attack once a draw, three draws; DUNDUN_TEST_SEED=… has a draw again.
// A machine that others use holds anybody up now and then: `npm test` therefore holds waits to a bound that only a service
// that stands still passes, and `npm run test:long`, for a quiet machine, to the 250 ms that an ordinary user may notice.
// DUNDUN_TEST_ATTACKS_TABLE=1 writes the table of docs/security.md anew from what is measured of each alone.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite, type TestContext, test } from 'node:test';
import { memoryBytesDefault } from '../../src/config/memory-profile.ts';
import { SeededRandom } from '../support/dice.ts';
import type { Attack } from './harness/attack.ts';
import { type AttackReport, descriptorsSpare, runAttacks } from './harness/attack-run.ts';
import { rowOf, type TableRow, writeTable } from './harness/attack-table.ts';
import type { ProbeKind } from './harness/prober.ts';

const isLong = process.env['DUNDUN_TEST_LONG'] === '1';
const isTable = process.env['DUNDUN_TEST_ATTACKS_TABLE'] === '1';
/** Milliseconds that an ordinary user may wait longer than for a bare server on the same machine at the same time. */
const waitMsMax = isLong ? 250 : 2_000;
/** A wait beyond the bound must come again so many times to count. */
const attemptsMax = isLong ? 5 : 3;
/** A sign-in takes a hash, and waits for those of others: its time is told, and only that it is let in is held. */
const timedProbes = [
  { kind: 'health', bare: 'bare get' },
  { kind: 'read', bare: 'bare get' },
  { kind: 'push', bare: 'bare write' },
  { kind: 'publish', bare: 'bare write' },
  { kind: 'hear', bare: 'bare write' },
] as const;
const stopMsMax = 8_000;
/** What the process is held to where nothing is set. */
const attackBytesMax = memoryBytesDefault;
/** A service without data is ready in one or two seconds. */
const startMsMax = 15_000;

const rows: TableRow[] = [];
const random = new SeededRandom();
const draws = isLong ? 3 : 0;
const all = await findAttacks();

suite('attacks', { timeout: 3_600_000 }, () => {
  const beside = isLong || isTable ? [] : pairUp(all.filter(({ leftOut }) => leftOut === undefined));
  for (const two of beside) test(`together: ${two.map(titleOf).join('; ')}`, (t) => holdUnnoticed(t, two));
  for (const attack of all.filter((one) => !beside.some((two) => two.includes(one)))) {
    const skip = attack.leftOut ?? false;
    test(`alone: ${titleOf(attack)}`, { skip }, async (t) => {
      let last: AttackReport | undefined;
      try {
        await holdUnnoticed(t, [attack], (report) => {
          last = report;
        });
      } finally {
        if (last !== undefined) rows.push(rowOf(attack, last));
      }
    });
  }
  for (let draw = 0; draw < draws; draw += 1) {
    for (const three of drawThrees(all.filter(({ leftOut }) => leftOut === undefined))) {
      test(`together: ${three.map(titleOf).join('; ')} (seed ${random.seed})`, (t) => holdUnnoticed(t, three));
    }
  }
});

after(() => {
  if (isTable) writeTable(rows);
});

/** Runs the attacks until nobody has waited too long; all else must hold each time. */
async function holdUnnoticed(
  t: TestContext,
  attacks: readonly Attack[],
  tell: (report: AttackReport) => void = () => {},
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const report = await runAttacks(attacks);
    tell(report);
    t.diagnostic(measuredOf(report));
    holdUnharmed(report);
    for (const { hold } of attacks) hold?.(report);
    const waits = waitsBeyond(report);
    if (waits.length === 0) return;
    if (attempt === attemptsMax) assert.fail(`${waits.join('; ')}\n${report.log.slice(-4_000)}`);
  }
}

function measuredOf({ probes, memoryBytesMax, stopMs, log }: AttackReport): string {
  const longest = Object.entries(probes).map(([kind, { longestMs }]) => `${kind} ${Math.round(longestMs)}`);
  const mib = Math.round(memoryBytesMax / 2 ** 20);
  const held = [...log.matchAll(/"lateMs":(\d+),"work":"([^"]*)"/g)].map(([, ms, work]) => `; ${work} held it ${ms}`);
  const rest = `memory ${mib} MiB; stopped in ${Math.round(stopMs)} ms`;
  return `longest waits in ms: ${longest.join(', ')}; ${rest}${held.join('')}`;
}

function waitsBeyond({ probes }: AttackReport): string[] {
  const slow = timedProbes.filter(({ kind, bare }) => probes[kind].longestMs - probes[bare].longestMs > waitMsMax);
  return slow.map(({ kind, bare }) => {
    const [ours, own] = [probes[kind].longestMs, probes[bare].longestMs].map(Math.round);
    return `${kind} took ${ours} ms at most, where a bare server took ${own}`;
  });
}

function holdUnharmed(report: AttackReport): void {
  const { probes, died, descriptorsBefore, descriptorsAfter } = report;
  const log = report.log.slice(-4_000);
  assert.equal(died, undefined, `The process ended.\n${log}`);
  for (const kind of Object.keys(probes) as ProbeKind[]) {
    const { refused, count } = probes[kind];
    assert.deepEqual(refused, [], `${kind}: refused of ${count}\n${log}`);
    assert.ok(count > 0, `${kind}: nothing was asked`);
  }
  const mib = Math.round(report.memoryBytesMax / 2 ** 20);
  assert.ok(report.memoryBytesMax <= attackBytesMax, `memory reached ${mib} MiB`);
  assert.ok(
    descriptorsAfter <= descriptorsBefore + descriptorsSpare,
    `descriptors: ${descriptorsBefore} before, ${descriptorsAfter} after`,
  );
  assert.ok(report.stopMs <= stopMsMax, `stopping took ${Math.round(report.stopMs)} ms`);
  assert.ok((report.startMs ?? 0) <= startMsMax, `it was ready again after ${Math.round(report.startMs ?? 0)} ms`);
  // What Node.js warns of: listeners that gather, promises that nobody waits for.
  assert.doesNotMatch(report.log, /Warning: /);
}

async function findAttacks(): Promise<readonly Attack[]> {
  const files = globSync(join(import.meta.dirname, '*.attack.ts')).sort();
  const lists = await Promise.all(files.map((file) => import(file) as Promise<{ attacks: readonly Attack[] }>));
  return lists.flatMap(({ attacks }) => attacks);
}

function titleOf({ by = 'stranger', name }: Attack): string {
  return `a ${by} ${name}`;
}

/** Each with one from the other half of the list, which is of another kind; those that find none are in no pair. */
function pairUp(attacks: readonly Attack[]): readonly [Attack, Attack][] {
  const half = Math.ceil(attacks.length / 2);
  const left = attacks.slice(half);
  return attacks.slice(0, half).flatMap((one): [Attack, Attack][] => {
    const at = left.findIndex((other) => fit(one, other));
    if (at < 0) return [];
    const [other] = left.splice(at, 1);
    return [[one, other as Attack]];
  });
}

/** All attacks in an order by chance, three by three; those that cannot meet one service are not put together. */
function drawThrees(attacks: readonly Attack[]): Attack[][] {
  const left = [...attacks];
  const threes: Attack[][] = [];
  while (left.length > 0) {
    const three: Attack[] = [];
    while (three.length < 3) {
      const fitting = left.filter((attack) => three.every((other) => fit(attack, other)));
      if (fitting.length === 0) break;
      const drawn = fitting[random.between(0, fitting.length)] as Attack;
      three.push(drawn);
      left.splice(left.indexOf(drawn), 1);
    }
    if (three.length > 1) threes.push(three);
  }
  return threes;
}

/** Whether their settings do not contradict each other, and both speak TLS or neither; a bound of the system is for one. */
function fit(one: Attack, other: Attack): boolean {
  if (one.startedBy !== undefined || other.startedBy !== undefined) return false;
  const { settings: ours = {} } = one;
  const { settings: theirs = {} } = other;
  if ('DUNDUN_TLS_CERT' in ours !== 'DUNDUN_TLS_CERT' in theirs) return false;
  return Object.keys(ours).every((name) => !(name in theirs) || ours[name] === theirs[name]);
}
