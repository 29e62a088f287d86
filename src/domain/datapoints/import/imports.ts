// Bringing in history (contract 10): lines of a file, judged one by one and stored in their order, one commit a batch.
// What is permitted is what a push of its own would be (ingest.ts). No rule looks at any of it. Called by the import
// door of HTTP alone. Keeps I1: a batch counts as stored after its commit, whatever becomes of the next.

import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { limits } from '../../../config/limits.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { SensorId } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { CommitLog } from '../../ports/commit-log.ts';
import type { Series } from '../../ports/series.ts';
import { scope } from '../../scopes.ts';
import type { Sensors } from '../../sensors/sensors.ts';
import type { Actor } from '../../users/user.ts';
import type { PushReceipt } from '../datapoint-batch.ts';
import { nextLoopTurn } from '../history/series.ts';
import { IdempotencyGuard } from '../ingest/idempotency-guard.ts';
import type { Ingest, SensorRef } from '../ingest/ingest.ts';
import { Push } from '../ingest/push.ts';
import type { Reading } from '../ingest/reading.ts';
import type { Writer } from '../ingest/writer.ts';
import { ExistingDatapoints } from './existing-datapoints.ts';
import type { ImportLine, RefusedField } from './import-line.ts';

export interface ImportOptions {
  /** Judges everything and stores nothing. */
  readonly isDry: boolean;
  /** Makes sensors that a device lacks, where the actor may. */
  readonly makesSensors: boolean;
  /** Passes over a datapoint whose sensor has the same value at the same time already. */
  readonly skipsKnown: boolean;
  /** Under which a repeat stores nothing twice. */
  readonly key: string | undefined;
}

/** What became of a batch. */
export interface BatchOutcome {
  /** Datapoints stored, or, in a dry run, to be stored. */
  readonly accepted: number;
  /** Datapoints passed over because they were there. */
  readonly known: number;
  /** Not all of them where a repeat gets its first answer; `refusedCount` counts all. */
  readonly refused: readonly RefusedField[];
  readonly refusedCount: number;
}

/** A sensor that an import made. */
export interface CreatedSensor {
  readonly device: DeviceId;
  readonly sensor: SensorId;
}

interface ImportParts {
  readonly ingest: Ingest;
  readonly sensors: Sensors;
  readonly directory: DeviceDirectory;
  readonly permissions: Permissions;
  readonly writer: Writer;
  readonly commitLog: Pick<CommitLog, 'findReceipt'>;
  readonly series: Series;
  readonly clock: Clock;
  readonly receiptHours: number;
}

export class Imports {
  readonly #parts: ImportParts & { readonly idempotencyGuard: IdempotencyGuard<BatchOutcome> };

  constructor(parts: ImportParts) {
    this.#parts = { ...parts, idempotencyGuard: new IdempotencyGuard(parts) };
  }

  /** @param actorNow who imports, as they are by then: an import may last, and rights end. */
  begin(actorNow: () => Promise<Actor>, options: ImportOptions): ImportRun {
    return new ImportRun(this.#parts, actorNow, options);
  }
}

/** Where a line goes, or why it may not go there. */
type LineTarget = SensorRef | 'to be made' | string;

/** One import. Its batches come one after the other. */
export class ImportRun {
  readonly #parts: ImportParts & { readonly idempotencyGuard: IdempotencyGuard<BatchOutcome> };
  readonly #actorNow: () => Promise<Actor>;
  readonly #options: ImportOptions;
  readonly #made = new Map<string, CreatedSensor>();
  /** Why a sensor could not be made. */
  readonly #unmade = new Map<string, string>();
  readonly #known: ExistingDatapoints | undefined;
  #batch = 0;

  constructor(
    parts: ImportParts & { readonly idempotencyGuard: IdempotencyGuard<BatchOutcome> },
    actorNow: () => Promise<Actor>,
    options: ImportOptions,
  ) {
    this.#parts = parts;
    this.#actorNow = actorNow;
    this.#options = options;
    this.#known = options.skipsKnown ? new ExistingDatapoints(parts.series) : undefined;
  }

  /** The sensors made so far, or, in a dry run, to be made. */
  get made(): readonly CreatedSensor[] {
    return [...this.#made.values()];
  }

  /**
   * Stores what may be stored of these lines; resolves after the commit.
   * @throws Refusal `busy`, `storage`, `unauthenticated`, `conflict`: then nothing of this batch was stored.
   */
  async store(lines: readonly ImportLine[]): Promise<BatchOutcome> {
    const actor = await this.#actorNow();
    this.#parts.permissions.requireGuestAllowed(actor);
    const { key, isDry } = this.#options;
    const part = this.#batch;
    this.#batch += 1;
    await this.#parts.directory.loadAll(new Set(lines.map(({ device }) => device)));
    await this.#makeSensors(actor, lines);
    if (isDry) return this.#dryRun(actor, lines);
    if (key === undefined) return this.#append(actor, lines);
    const body = Buffer.from(JSON.stringify(lines));
    return this.#parts.idempotencyGuard.run({
      caller: actor.caller.key,
      key: { key, door: 'POST import', body },
      part,
      first: (receipt) => this.#append(actor, lines, receipt),
      again: (answer) => JSON.parse(answer) as BatchOutcome,
    });
  }

  async #dryRun(actor: Actor, lines: readonly ImportLine[]): Promise<BatchOutcome> {
    const known = await this.#findKnown(actor, lines);
    await nextLoopTurn();
    const { pushes: _, ...outcome } = this.#judge(actor, lines, known);
    return outcome;
  }

  async #append(actor: Actor, lines: readonly ImportLine[], receipt?: PushReceipt): Promise<BatchOutcome> {
    const { writer, directory } = this.#parts;
    const known = await this.#findKnown(actor, lines);
    for (let attempt = 1; ; attempt++) {
      await directory.loadAll(new Set(lines.map(({ device }) => device)));
      // From here to the queue nothing waits, so that no removal comes between.
      const { pushes, ...outcome } = this.#judge(actor, lines, known);
      if (outcome.accepted === 0) return outcome;
      try {
        await writer.append({
          caller: actor.caller,
          pushes,
          receipt: receipt && { ...receipt, answer: pack(outcome) },
        });
        return outcome;
      } catch (error) {
        const isFull = error instanceof Refusal && error.code === 'busy';
        if (!isFull || attempt === limits.importAttemptsMax) throw error;
        // History can wait: it goes in behind what comes now.
        await writer.waitForCapacity(actor.caller);
      }
    }
  }

  /** What may be stored, as pushes in the order of the lines, and what may not. */
  #judge(
    actor: Actor,
    lines: readonly ImportLine[],
    known: ReadonlySet<ImportLine>,
  ): BatchOutcome & { readonly pushes: readonly Push[] } {
    const nowMs = this.#parts.clock.now();
    const targets = new Map<string, LineTarget>();
    const refused: RefusedField[] = [];
    const pushes: Push[] = [];
    let run: { readonly sensorRef: SensorRef; readonly receivedMs: number; readonly readings: Reading[] } | undefined;
    let accepted = 0;
    for (const line of lines) {
      const target = this.#targetOf(actor, line, targets);
      const fault = typeof target === 'string' && target !== 'to be made' ? target : faultOf(line, nowMs);
      if (fault !== undefined) refused.push({ line: line.line, column: line.column, detail: fault });
      if (fault !== undefined || known.has(line)) continue;
      accepted += 1;
      if (typeof target === 'string') continue;
      // Sensors that take turns make many small pushes: so all datapoints keep the order of the file.
      const receivedMs = line.receivedMs ?? nowMs;
      if (run === undefined || run.sensorRef !== target || run.receivedMs !== receivedMs) {
        run = { sensorRef: target, receivedMs, readings: [] };
        pushes.push(new Push(target, run.readings, receivedMs, { isQuiet: true }));
      }
      run.readings.push(line.reading);
    }
    const refusedCount = refused.length;
    return { accepted, known: lines.length - accepted - refusedCount, refused, refusedCount, pushes };
  }

  #targetOf(actor: Actor, line: ImportLine, targets: Map<string, LineTarget>): LineTarget {
    const id = `${line.device}\n${line.sensor}\n${line.receivedMs === undefined}`;
    let target = targets.get(id);
    if (target === undefined) {
      target = this.#resolve(actor, line);
      targets.set(id, target);
    }
    return target;
  }

  #resolve(actor: Actor, { device: id, sensor, receivedMs }: ImportLine): LineTarget {
    const { directory, permissions, ingest } = this.#parts;
    const device = directory.peek(id);
    if (device === undefined) return `There is no device ${id}.`;
    try {
      // To say when something was received is to speak for the service; who may change the device may.
      if (receivedMs !== undefined) permissions.require(actor, device, scope.update);
      // To say what is there already is to show it.
      if (this.#options.skipsKnown) permissions.require(actor, device, scope.dataView);
      permissions.require(actor, device, scope.dataCreate);
      const name = nameOf(id, sensor);
      if (!device.sensors.has(sensor) && this.#unmade.has(name)) return this.#unmade.get(name) as string;
      if (!device.sensors.has(sensor) && this.#options.isDry && this.#made.has(name)) return 'to be made';
      return ingest.resolve(actor, device, sensor);
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  }

  async #findKnown(actor: Actor, lines: readonly ImportLine[]): Promise<ReadonlySet<ImportLine>> {
    if (this.#known === undefined) return new Set();
    const targets = new Map<string, LineTarget>();
    return this.#known.findAmong(lines, actor.caller, (line) => {
      const target = this.#targetOf(actor, line, targets);
      return typeof target === 'string' ? undefined : target.sensor;
    });
  }

  /** Makes the sensors that the lines name and their devices lack. */
  async #makeSensors(actor: Actor, lines: readonly ImportLine[]): Promise<void> {
    if (!this.#options.makesSensors) return;
    for (const line of lines) {
      const device = this.#parts.directory.peek(line.device);
      const name = nameOf(line.device, line.sensor);
      if (device === undefined || device.sensors.has(line.sensor)) continue;
      if (this.#unmade.has(name) || (this.#options.isDry && this.#made.has(name))) continue;
      try {
        await this.#makeSensor(actor, device, line);
        this.#made.set(name, { device: line.device, sensor: line.sensor });
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'storage' || error.code === 'busy') throw error;
        this.#unmade.set(name, `Device ${line.device} has no sensor ${line.sensor}. ${error.message}`);
      }
    }
  }

  async #makeSensor(actor: Actor, device: Device, { sensor: id, name, unit }: ImportLine): Promise<void> {
    const { permissions, sensors } = this.#parts;
    if (this.#made.size + this.#unmade.size >= limits.importSensorsMax) {
      throw new Refusal('too-large', `One import makes at most ${limits.importSensorsMax} sensors.`);
    }
    permissions.require(actor, device, scope.update | scope.dataCreate);
    if (this.#options.isDry) return;
    const words = { ...(name === undefined ? {} : { name }), ...(unit === undefined ? {} : { unit }) };
    await sensors.put(actor, device.id, { id, kindName: 'sensing_device', ...words });
  }
}

function nameOf(device: DeviceId, sensor: SensorId): string {
  return `${device}\n${sensor}`;
}

function faultOf({ receivedMs }: ImportLine, nowMs: number): string | undefined {
  return receivedMs !== undefined && receivedMs > nowMs ? 'The time it was received lies in the future.' : undefined;
}

/** The outcome as it is kept in the receipt: of the refused as many as an answer tells of. */
function pack(outcome: BatchOutcome): string {
  return JSON.stringify({ ...outcome, refused: outcome.refused.slice(0, limits.importRefusedMax) });
}
