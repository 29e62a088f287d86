// The order of MQTT writes while the database goes away and comes back: what is kept is stored once, before all that was asked for later.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { setLimits } from '../../../../test/support/limits.ts';
import { storageRefusal } from '../write-failure.ts';
import type { MqttChange } from './mqtt-tables.ts';
import { MqttWrites } from './mqtt-writes.ts';

/** A database that is away when a test says so. */
class Database {
  isAway = false;
  readonly stored: number[] = [];
  readonly #passing = new WeakSet<object>();

  get unitsAtOnce(): number {
    return this.isAway ? Number.POSITIVE_INFINITY : 1;
  }

  async write(changes: readonly MqttChange[]): Promise<readonly number[]> {
    await turn();
    if (this.isAway) {
      const refusal = storageRefusal(new Error('It is away.'));
      this.#passing.add(refusal);
      throw refusal;
    }
    this.stored.push(...changes.map((change) => ('session' in change ? change.session : -1)));
    return changes.map(() => 1);
  }

  mayPass(error: unknown): boolean {
    return this.#passing.has(error as object);
  }
}

const steps = fc.array(fc.constantFrom('kept', 'other', 'away', 'back', 'turn'), { minLength: 1, maxLength: 40 });

suite('MQTT writes', () => {
  setLimits({ mqttWriteRetryMs: 1 });

  test('are stored once and in order, those that are kept all, whenever the database is away', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const database = new Database();
        const writes = new MqttWrites(database);
        const expected: Promise<number | undefined>[] = [];
        for (const [n, step] of all.entries()) {
          if (step === 'turn') await turn();
          else if (step === 'kept' || step === 'other') {
            const written = writes.write([{ kind: 'away', session: n, awayMs: null }], { isKept: step === 'kept' });
            expected.push(step === 'kept' ? written.then(() => n) : written.then(() => n).catch(() => undefined));
          } else database.isAway = step === 'away';
        }
        database.isAway = false;
        const answered = await Promise.all(expected);
        assert.deepEqual(
          database.stored,
          answered.filter((n) => n !== undefined),
        );
        await writes.idle();
      }),
      { numRuns: 200 },
    );
  });

  test('that are kept are refused at once, and counted as lost, when the service stops while the database is away', async () => {
    const database = new Database();
    const lost: unknown[] = [];
    const writes = new MqttWrites(database, (error) => lost.push(error));
    database.isAway = true;
    const kept = writes.write([{ kind: 'away', session: 1, awayMs: null }], { isKept: true });
    await turn();
    writes.isLast = true;
    await assert.rejects(kept, /storage refused/);
    assert.equal(writes.lost, 1);
    assert.deepEqual(lost, []);
    await writes.idle();
  });
});
