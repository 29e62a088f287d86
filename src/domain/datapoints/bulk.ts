// Datapoints of many devices in one request, judged line by line (contract 10): what may be stored is stored, in one
// commit, and the rest is told. Each line passes the same checks as a push of its own (ingest.ts). Keeps I1: the answer
// goes out after the commit, and a queue that is full refuses the whole request.
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { Refusal } from '../../base/refusal.ts';
import { limits } from '../../config/limits.ts';
import type { DeviceId } from '../devices/device.ts';
import type { DeviceDirectory } from '../devices/device-directory.ts';
import type { Permissions } from '../permissions/permission.ts';
import type { SensorId } from '../sensors/sensor.ts';
import type { Actor } from '../users/user.ts';
import type { PushReceipt } from './datapoint-batch.ts';
import type { DatapointStore } from './datapoint-store.ts';
import { assertSameBody, type IdempotencyKey, type Ingest } from './ingest.ts';
import { Push } from './push.ts';
import type { Reading } from './reading.ts';
import { turnOfTheLoop } from './series.ts';
import type { Writer } from './writer.ts';

export interface BulkLine {
  /** From 1. */
  readonly line: number;
  readonly device: DeviceId;
  readonly sensor: SensorId;
  readonly reading: Reading;
}

export interface RefusedLine {
  readonly line: number;
  readonly detail: string;
}

/** What came in, read: lines that make sense, and those that do not. */
export interface BulkRequest {
  readonly lines: readonly BulkLine[];
  readonly refused: readonly RefusedLine[];
  /** True when no rule is to look at them. */
  readonly isQuiet?: boolean;
}

export interface BulkAnswer {
  readonly accepted: number;
  /** In order of their lines. */
  readonly refused: readonly RefusedLine[];
}

/** Devices read from the store before others get a turn. */
const loadedAtOnce = 50;

export class Bulk {
  readonly #ingest: Ingest;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #writer: Writer;
  readonly #store: DatapointStore;
  readonly #clock: Clock;
  readonly #receiptMs: number;
  /** Requests with a key that are under way, so that a repeat waits for the first. */
  readonly #underWay = new Map<string, { readonly bodyHash: string; readonly done: Promise<BulkAnswer> }>();

  constructor(parts: {
    readonly ingest: Ingest;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly writer: Writer;
    readonly store: DatapointStore;
    readonly clock: Clock;
    readonly receiptHours: number;
  }) {
    this.#ingest = parts.ingest;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#writer = parts.writer;
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#receiptMs = parts.receiptHours * 3_600_000;
  }

  /**
   * Stores what may be stored; resolves after the commit.
   * @throws Refusal `busy`, `storage`: then nothing was stored.
   */
  async accept(actor: Actor, request: BulkRequest): Promise<BulkAnswer> {
    this.#permissions.requireGuestAllowed(actor);
    return this.#append(actor, request);
  }

  /**
   * The same, once, however often it is repeated within 24 hours under the same key; a repeat gets the first answer.
   * @throws Refusal `conflict` when the key came with another body before.
   */
  async acceptOnce(actor: Actor, request: BulkRequest, { key, door, body }: IdempotencyKey): Promise<BulkAnswer> {
    this.#permissions.requireGuestAllowed(actor);
    const bodyHash = createHash('sha256').update(body).digest('base64');
    const caller = actor.userId;
    const id = `${caller}\n${door}\n\n${key}`;
    const first = this.#underWay.get(id);
    if (first !== undefined) {
      assertSameBody(first.bodyHash, bodyHash);
      return first.done;
    }
    const receipt: PushReceipt = { id, caller, bodyHash, atMs: this.#clock.now() };
    const done = this.#acceptFirst(actor, request, receipt).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, { bodyHash, done });
    return done;
  }

  async #acceptFirst(actor: Actor, request: BulkRequest, receipt: PushReceipt): Promise<BulkAnswer> {
    const earlier = await this.#store.findReceipt(receipt.id);
    if (earlier === undefined || earlier.atMs <= receipt.atMs - this.#receiptMs) {
      return this.#append(actor, request, receipt);
    }
    const [bodyHash = '', answer = ''] = earlier.bodyHash.split(/ (.*)/s);
    assertSameBody(bodyHash, receipt.bodyHash);
    return unpack(answer);
  }

  async #append(actor: Actor, { lines, refused, isQuiet }: BulkRequest, receipt?: PushReceipt): Promise<BulkAnswer> {
    const groups = [...Map.groupBy(lines, ({ device, sensor }) => `${device}\n${sensor}`).values()];
    await this.#loadDevices(new Set(lines.map(({ device }) => device)));
    // From here to the queue nothing waits, so that no removal comes between.
    const pushes: Push[] = [];
    const faults = [...refused];
    let accepted = 0;
    for (const group of groups) {
      const push = this.#resolve(actor, group, isQuiet);
      if (typeof push === 'string') for (const { line } of group) faults.push({ line, detail: push });
      else {
        pushes.push(push);
        accepted += group.length;
      }
    }
    const answer = { accepted, refused: faults.sort((a, b) => a.line - b.line) };
    if (accepted > 0) {
      const kept = receipt && { ...receipt, bodyHash: `${receipt.bodyHash} ${pack(answer)}` };
      await this.#writer.append({ pushes, receipt: kept });
    }
    return answer;
  }

  /** The push of the lines of one sensor, or why it may not be. */
  #resolve(actor: Actor, group: readonly BulkLine[], isQuiet: boolean | undefined): Push | string {
    const { device: id, sensor } = group[0] as BulkLine;
    const device = this.#directory.peek(id);
    if (device === undefined) return `There is no device ${id}.`;
    try {
      const place = this.#ingest.resolve(actor, device, sensor);
      const readings = group.map(({ reading }) => reading);
      return new Push(place, readings, this.#clock.now(), { isQuiet });
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  }

  /** Takes into memory those of the devices that there are. */
  async #loadDevices(ids: ReadonlySet<DeviceId>): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const found: DeviceId[] = [];
      let loaded = 0;
      for (const id of ids) {
        if (this.#directory.peek(id) === undefined) {
          if ((await this.#directory.find(id)) === undefined) continue;
          loaded += 1;
          if (loaded % loadedAtOnce === 0) await turnOfTheLoop();
        }
        found.push(id);
      }
      if (found.every((id) => this.#directory.peek(id) !== undefined)) return;
    }
    throw new Refusal('busy', 'Too many devices at once. Nothing of this request was stored; send it in parts.', {
      retryAfterS: limits.busyRetryAfterS,
    });
  }
}

/** The answer as it is kept beside the hash of the body, short where many lines are refused for one reason. */
function pack({ accepted, refused }: BulkAnswer): string {
  const reasons = [...Map.groupBy(refused, ({ detail }) => detail)];
  const text = JSON.stringify([
    accepted,
    ...reasons.map(([detail, lines]) => [detail, ...lines.map(({ line }) => line)]),
  ]);
  if (text.length <= limits.keptAnswerCharsMax) return text;
  throw new Refusal(
    'too-large',
    'So many lines are refused that the answer cannot be kept under an Idempotency-Key. Nothing was stored: mend the lines, or send them in parts or without the key.',
  );
}

function unpack(text: string): BulkAnswer {
  const [accepted, ...reasons] = JSON.parse(text) as [number, ...[string, ...number[]][]];
  const refused = reasons.flatMap(([detail, ...lines]) => lines.map((line) => ({ line, detail })));
  return { accepted, refused: refused.sort((a, b) => a.line - b.line) };
}
