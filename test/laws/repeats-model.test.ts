// What is remembered of publishes equals a model, over any order of publishes, repeats, connections, hours, sealing, trims
// of the disk and crashes: a repeat is known while its session is there and for an hour after, and nothing else is taken
// for one (contract 8).
import assert from 'node:assert/strict';
import type { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { TurnedClock } from '../../src/base/time/clock.ts';
import { limits } from '../../src/config/limits.ts';
import { BatchBuilder } from '../../src/domain/datapoints/datapoint-batch.ts';
import type { SensorKey } from '../../src/domain/devices/sensor.ts';
import type { DatabaseWriter, SqlValue } from '../../src/engines/embedded/database/database-writer.ts';
import { migratedInMemory } from '../../src/engines/embedded/database/migrate.ts';
import { DatapointWriter } from '../../src/engines/embedded/log/datapoint-writer.ts';
import { listFingerprints, trimFingerprints } from '../../src/engines/embedded/log/publish-fingerprints.ts';
import { DuplicateDetector } from '../../src/mqtt/repeats/duplicate-detector.ts';
import { publishFingerprint, topicHash } from '../../src/mqtt/repeats/fingerprint.ts';
import type { RememberedSession } from '../../src/mqtt/repeats/remembered-sessions.ts';
import { properties } from '../support/properties.ts';

const { duplicateMemoryMax, duplicateDiskBytesMin, duplicateRowBytes, duplicateRowsStep, duplicateChangesMax } = limits;
const hourMs = limits.duplicateGoneMs;
before(() => {
  // So small that little is trimmed, and in several steps.
  const trimmed = { duplicateDiskBytesMin: 0, duplicateRowBytes: 100, duplicateRowsStep: 2 };
  Object.assign(limits, { ...trimmed, duplicateMemoryMax: 1_024, duplicateChangesMax: 2 });
});
after(() => {
  const trimmed = { duplicateDiskBytesMin, duplicateRowBytes, duplicateRowsStep };
  Object.assign(limits, { ...trimmed, duplicateMemoryMax, duplicateChangesMax });
});

const users = [{ key: 1, id: 'one' }, { key: 2, id: 'two' }] as const; // biome-ignore format: short
const topic = topicHash('devices/d/sensors/s/value');

/** What the model knows of a user's session. */
interface Known {
  connection: RememberedSession | undefined;
  /** By packet id: the payload that is remembered, and what is on the disk of it. */
  readonly last: Map<number, number>;
  readonly onDisk: Map<number, number>;
  /** Packet ids of which the service may have forgotten the last, after an hour with a crash or a crash alone. */
  readonly unsure: Set<number>;
  /** Whether it is stored that its client has come: that goes with the next publish of anybody. */
  isComingStored: boolean;
  /** When it went, and the latest that the service may take for that: it may not have been stored before a crash. */
  goneMs: number;
  goneMsMax: number;
}

class RestartedDetector {
  readonly clock = new TurnedClock(1.8e12);
  readonly #database: DatabaseSync;
  readonly #sessions: readonly Known[] = users.map(() => ({
    ...{ connection: undefined, last: new Map(), onDisk: new Map(), unsure: new Set() },
    ...{ isComingStored: false, goneMs: 0, goneMsMax: 0 },
  }));
  #writer: DatapointWriter;
  #detector: DuplicateDetector;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#writer = new DatapointWriter(database, { followedSeq: () => Number.MAX_SAFE_INTEGER });
    this.#detector = this.#open();
  }

  #open(): DuplicateDetector {
    const reader = this.#database;
    const write: DatabaseWriter['write'] = async (statements) =>
      statements.map(({ sql, parameters }) =>
        Number(reader.prepare(sql).run(...(parameters as Exclude<SqlValue, bigint>[])).changes),
      );
    const writer = { write } as DatabaseWriter;
    return new DuplicateDetector({
      clock: this.clock,
      sessionBytesMaxOf: () => Number.POSITIVE_INFINITY,
      stored: {
        onPublished: () => {},
        listFingerprints: async () => listFingerprints(reader),
        trimFingerprints: (trim) => trimFingerprints({ reader, writer }, trim),
      },
    });
  }

  connect(who: number): Known {
    const known = this.#sessions[who] as Known;
    if (known.connection !== undefined) return known;
    const nowMs = this.clock.now();
    if (nowMs - known.goneMsMax >= hourMs) known.last.clear();
    else if (nowMs - known.goneMs >= hourMs) for (const packetId of known.last.keys()) known.unsure.add(packetId);
    known.isComingStored = false;
    known.connection = this.#detector.arrive(users[who] as (typeof users)[0], 'same');
    return known;
  }

  leave(who: number): void {
    const known = this.#sessions[who] as Known;
    if (known.connection === undefined) return;
    this.#detector.leave(known.connection);
    known.connection = undefined;
    known.goneMs = known.goneMsMax = this.clock.now();
  }

  /** @returns the fingerprint as it is made of a message. */
  #make(known: Known, packetId: number, payload: number) {
    const bytes = Buffer.from(String(payload));
    const session = this.#detector.current(known.connection as RememberedSession);
    return publishFingerprint(session, packetId, topic, { part: 1, bytes, start: 0, end: bytes.length });
  }

  publish(who: number, packetId: number, payload: number, isStored: boolean): void {
    const known = this.connect(who);
    const fingerprint = this.#make(known, packetId, payload);
    this.#detector.begin(fingerprint);
    this.#detector.carryChanges(fingerprint);
    known.last.delete(packetId);
    known.unsure.delete(packetId);
    if (isStored) {
      const batch = new BatchBuilder(1);
      batch.add(1 as SensorKey, Number.NaN, this.clock.now(), payload);
      batch.addPublish(fingerprint);
      this.#writer.append(batch.build());
      this.#writer.committed();
      for (const each of this.#sessions) each.isComingStored = true;
      known.last.set(packetId, payload);
      known.onDisk.set(packetId, payload);
    }
    this.#detector.end(fingerprint, isStored ? undefined : new Error('not stored'));
  }

  repeat(who: number, packetId: number, payload: number): void {
    const known = this.connect(who);
    const isFound = this.#detector.find(this.#make(known, packetId, payload)) !== undefined;
    if (known.last.get(packetId) !== payload) assert.equal(isFound, false, 'another is taken for a repeat');
    else if (!known.unsure.has(packetId)) assert.equal(isFound, true, 'a repeat is not known');
    else if (!isFound) known.last.delete(packetId);
    if (known.last.get(packetId) === payload) known.unsure.delete(packetId);
  }

  seal(): void {
    this.#writer.clearUpTo(this.#writer.lastSeq);
    this.#writer.cleared(this.#writer.lastSeq, { upTo: this.#writer.lastSeq });
  }

  trim(): Promise<void> {
    return this.#detector.trim();
  }

  async crash(): Promise<void> {
    for (const known of this.#sessions) {
      if (!known.isComingStored) for (const packetId of known.last.keys()) known.unsure.add(packetId);
      if (known.connection !== undefined) known.goneMs = this.clock.now();
      known.goneMsMax = this.clock.now();
      known.connection = undefined;
      for (const [packetId, payload] of known.onDisk) {
        if (known.last.has(packetId)) continue;
        known.last.set(packetId, payload);
        known.unsure.add(packetId);
      }
    }
    this.#writer = new DatapointWriter(this.#database, { followedSeq: () => Number.MAX_SAFE_INTEGER });
    this.#detector = this.#open();
    await this.#detector.restore();
  }

  /** Many publishes that leave nothing to be remembered but the last, so that a trim has to do. */
  async churn(who: number): Promise<void> {
    for (let n = 0; n < 40; n++) this.publish(who, 1, n % 2, true);
    this.seal();
    await this.trim();
  }
}

const who = fc.nat({ max: users.length - 1 });
const packetId = fc.constantFrom(1, 65_535);
const payload = fc.nat({ max: 1 });
const step = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('publish' as const), who, packetId, payload, fc.boolean()) },
  { weight: 6, arbitrary: fc.tuple(fc.constant('repeat' as const), who, packetId, payload) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('leave' as const), who) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('connect' as const), who) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('pass' as const), fc.constantFrom(1, hourMs / 2, hourMs - 1, hourMs)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('churn' as const), who) },
  { weight: 3, arbitrary: fc.constantFrom(['seal'] as const, ['trim'] as const, ['crash'] as const) },
);

test('what is remembered of publishes equals the model', async () => {
  const database = await migratedInMemory();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
      database.exec('DELETE FROM log; DELETE FROM mqtt_fingerprint');
      const place = new RestartedDetector(database);
      for (const [kind, ...rest] of steps) {
        if (kind === 'pass') place.clock.advance(rest[0] as number);
        else await (place[kind] as (...args: unknown[]) => void | Promise<void>)(...rest);
      }
    }),
    properties({ factor: 0.3 }),
  );
});
