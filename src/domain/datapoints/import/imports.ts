// Imports history (contract 10): lines of a file, checked one by one and stored in order, one commit for each batch.
// Needs the same permission as pushes (ingest.ts). No rule is evaluated for imported datapoints. Called by
// http/import. Keeps I1: a batch counts as stored after its commit, whatever happens to the next batch.

import { Refusal, type Said } from '../../../base/refusal.ts';
import { hasBytesMax, hasCharsMax } from '../../../base/text/text-length.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { AgeClocks } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import { loopTurns } from '../../callers/loop-turns.ts';
import type { Device, DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { SensorId } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Series } from '../../ports/series.ts';
import { scope } from '../../scopes.ts';
import type { Sensors } from '../../sensors/sensors.ts';
import type { Actor } from '../../users/user.ts';
import type { PushReceipt } from '../datapoint-batch.ts';
import { IdempotencyGuard, type ReceiptClaims } from '../ingest/idempotency-guard.ts';
import type { Ingest, SensorRef } from '../ingest/ingest.ts';
import { Push } from '../ingest/push.ts';
import type { Reading } from '../ingest/reading.ts';
import type { Writer } from '../ingest/writer.ts';
import { ExistingDatapoints } from './existing-datapoints.ts';
import type { ImportLine, RefusedField } from './import-line.ts';

export interface ImportOptions {
  /** Dry run: checks everything and stores nothing. */
  readonly isDry: boolean;
  /** Creates missing sensors of a device, where the actor may. */
  readonly makesSensors: boolean;
  /** Skips a datapoint whose sensor already has the same value at the same time. */
  readonly skipsKnown: boolean;
  /** Idempotency key; an import that is repeated under the same key stores nothing twice. */
  readonly key: string | undefined;
}

/** The result of a batch. */
export interface BatchOutcome {
  /** Datapoints stored, or in a dry run those that would be stored. */
  readonly accepted: number;
  /** Datapoints skipped because they exist. */
  readonly known: number;
  /** Refused lines; only some of them in the stored answer that a repeat gets. `refusedCount` counts all. */
  readonly refused: readonly RefusedField[];
  readonly refusedCount: number;
}

/** A sensor that an import created. */
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
  readonly commitLog: ReceiptClaims;
  readonly series: Series;
  readonly clock: Clock;
  readonly clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
  readonly receiptHours: number;
}

export class Imports {
  readonly #parts: ImportParts & { readonly idempotencyGuard: IdempotencyGuard<BatchOutcome> };

  constructor(parts: ImportParts) {
    this.#parts = { ...parts, idempotencyGuard: new IdempotencyGuard(parts) };
  }

  /**
   * @param actorNow returns the actor with their present rights: an import may take long, and rights may end
   * meanwhile.
   */
  begin(actorNow: () => Promise<Actor>, options: ImportOptions): ImportRun {
    return new ImportRun(this.#parts, actorNow, options);
  }
}

/** Why a line cannot be stored. */
interface LineFault {
  readonly detail: string;
  readonly said: Said;
}

/** The sensor of a line; `to be made` in a dry run that would create it; or the reason why the line cannot be stored. */
type LineTarget = { readonly ref: SensorRef } | 'to be made' | LineFault;

/** One import of a file. Its batches must be stored one after the other. */
export class ImportRun {
  readonly #parts: ImportParts & { readonly idempotencyGuard: IdempotencyGuard<BatchOutcome> };
  readonly #actorNow: () => Promise<Actor>;
  readonly #options: ImportOptions;
  readonly #createdSensors = new Map<string, CreatedSensor>();
  /** Sensors that could not be created, with the reason. */
  readonly #refusedSensors = new Map<string, LineFault>();
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

  /** The sensors created so far, or in a dry run those that would be created. */
  get made(): readonly CreatedSensor[] {
    return [...this.#createdSensors.values()];
  }

  /**
   * Stores the permitted lines; resolves after the commit.
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
      key: { key, endpoint: 'POST import', body },
      part,
      first: (receipt) => this.#append(actor, lines, receipt),
      again: (answer) => JSON.parse(answer) as BatchOutcome,
    });
  }

  async #dryRun(actor: Actor, lines: readonly ImportLine[]): Promise<BatchOutcome> {
    const known = await this.#findKnown(actor, lines);
    await loopTurns.turn(actor.caller);
    const { pushes: _, ...outcome } = this.#judge(actor, lines, known);
    return outcome;
  }

  async #append(actor: Actor, lines: readonly ImportLine[], receipt?: PushReceipt): Promise<BatchOutcome> {
    const { writer, directory } = this.#parts;
    const known = await this.#findKnown(actor, lines);
    for (let attempt = 1; ; attempt++) {
      await loopTurns.turn(actor.caller);
      await directory.loadAll(new Set(lines.map(({ device }) => device)));
      // No await from here to the queue, so that no removal can happen in between.
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
        // Imports are in no hurry: they wait until current pushes leave room.
        await writer.waitForCapacity(actor.caller);
      }
    }
  }

  /** The permitted lines as pushes in the order of the file; and the refused lines. */
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
      const fault = target !== 'to be made' && 'detail' in target ? target : faultOf(line, nowMs);
      if (fault !== undefined) refused.push({ line: line.line, column: line.column, ...fault });
      if (fault !== undefined || known.has(line)) continue;
      accepted += 1;
      if (target === 'to be made' || !('ref' in target)) continue;
      // Lines of alternating sensors become many small pushes, so that datapoints keep the order of the file.
      const receivedMs = line.receivedMs ?? nowMs;
      if (run === undefined || run.sensorRef !== target.ref || run.receivedMs !== receivedMs) {
        run = { sensorRef: target.ref, receivedMs, readings: [] };
        pushes.push(new Push(target.ref, run.readings, receivedMs, { skipsRules: true }));
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
    if (device === undefined)
      return { detail: `There is no device ${id}.`, said: { code: 'unknown-device', params: { device: id } } };
    try {
      // Setting the time of receiving needs the right to change the device.
      if (receivedMs !== undefined) permissions.require(actor, device, scope.update);
      // Skipping existing datapoints reveals them, so it needs the right to read.
      if (this.#options.skipsKnown) permissions.require(actor, device, scope.dataView);
      permissions.require(actor, device, scope.dataCreate);
      const name = nameOf(id, sensor);
      if (!device.sensors.has(sensor) && this.#refusedSensors.has(name))
        return this.#refusedSensors.get(name) as LineFault;
      if (!device.sensors.has(sensor) && this.#options.isDry && this.#createdSensors.has(name)) return 'to be made';
      return { ref: ingest.resolve(actor, device, sensor) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { detail: error.message, said: error.said ?? targetSaid(error, id, sensor) };
    }
  }

  async #findKnown(actor: Actor, lines: readonly ImportLine[]): Promise<ReadonlySet<ImportLine>> {
    if (this.#known === undefined) return new Set();
    const targets = new Map<string, LineTarget>();
    return this.#known.findAmong(lines, actor.caller, (line) => {
      const target = this.#targetOf(actor, line, targets);
      return target !== 'to be made' && 'ref' in target ? target.ref.sensor : undefined;
    });
  }

  /** Creates the sensors that the lines name and their devices lack. */
  async #makeSensors(actor: Actor, lines: readonly ImportLine[]): Promise<void> {
    if (!this.#options.makesSensors) return;
    for (const line of lines) {
      const device = this.#parts.directory.peek(line.device);
      const name = nameOf(line.device, line.sensor);
      if (device === undefined || device.sensors.has(line.sensor)) continue;
      if (this.#refusedSensors.has(name) || (this.#options.isDry && this.#createdSensors.has(name))) continue;
      try {
        await this.#makeSensor(actor, device, line);
        this.#createdSensors.set(name, { device: line.device, sensor: line.sensor });
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'storage' || error.code === 'busy') throw error;
        this.#refusedSensors.set(name, {
          detail: `Device ${line.device} has no sensor ${line.sensor}. ${error.message}`,
          said: { code: 'sensor-not-made', params: { device: line.device, sensor: line.sensor } },
        });
      }
    }
  }

  async #makeSensor(actor: Actor, device: Device, { sensor: id, name, unit }: ImportLine): Promise<void> {
    const { permissions, sensors } = this.#parts;
    if (this.#createdSensors.size + this.#refusedSensors.size >= limits.importSensorsMax) {
      throw new Refusal('too-large', `One import makes at most ${limits.importSensorsMax} sensors.`);
    }
    permissions.require(actor, device, scope.update | scope.dataCreate);
    assertWords({ name, unit });
    if (this.#options.isDry) return;
    const words = {
      ...(name === undefined ? {} : { name: withoutUnit(name, unit) }),
      ...(unit === undefined ? {} : { unit }),
    };
    await sensors.put(actor, device.id, { id, kindName: 'sensing_device', ...words });
  }
}

/** `Temp (°C)` of a sensor in °C is called Temp: the unit stands beside it everywhere. */
function withoutUnit(name: string, unit: string | undefined): string {
  const end = [`(${unit})`, `[${unit}]`].find((one) => unit !== undefined && name.trimEnd().endsWith(one));
  const bare = end === undefined ? '' : name.trimEnd().slice(0, -end.length).trimEnd();
  return bare === '' ? name : bare;
}

/** @throws Refusal `too-large`: the same bounds as for sensors that are created by a request. */
function assertWords({ name = '', unit = '' }: Pick<ImportLine, 'name' | 'unit'>): void {
  if (!hasCharsMax(name, limits.nameCharsMax))
    throw new Refusal('too-large', `The name of its column has more than ${limits.nameCharsMax} characters.`);
  if (!hasBytesMax(unit, limits.descriptionBytesMax))
    throw new Refusal('too-large', `Its unit has more than ${limits.descriptionBytesMax} bytes.`);
}

function nameOf(device: DeviceId, sensor: SensorId): string {
  return `${device}\n${sensor}`;
}

function faultOf({ receivedMs }: ImportLine, nowMs: number): LineFault | undefined {
  if (receivedMs === undefined || receivedMs <= nowMs) return undefined;
  return { detail: 'The time it was received lies in the future.', said: { code: 'received-future' } };
}

function targetSaid({ code }: Refusal, device: DeviceId, sensor: SensorId): Said {
  if (code === 'not-found') return { code: 'unknown-sensor', params: { device, sensor } };
  return { code, params: { device } };
}

/** The outcome as it is stored in the receipt, with at most as many refused lines as an answer shows. */
function pack(outcome: BatchOutcome): string {
  return JSON.stringify({ ...outcome, refused: outcome.refused.slice(0, limits.importRefusedMax) });
}
