// Stores datapoints of many devices from one request, checked line by line (contract 10): permitted lines are stored
// in one commit, the others are reported. Each line is checked like a push (ingest.ts). Keeps I1: the answer is sent
// after the commit, and a full queue refuses the whole request.

import { Refusal } from '../../../base/refusal.ts';
import type { Clock } from '../../../base/time/clock.ts';
import type { AgeClocks } from '../../../base/time/clock-watch.ts';
import { limits } from '../../../config/limits.ts';
import type { DeviceId } from '../../devices/device.ts';
import type { DeviceDirectory } from '../../devices/device-directory.ts';
import type { SensorId } from '../../devices/sensor.ts';
import type { Permissions } from '../../permissions/permission.ts';
import type { Actor } from '../../users/user.ts';
import type { PushReceipt } from '../datapoint-batch.ts';
import { IdempotencyGuard, type IdempotencyKey, type ReceiptClaims } from './idempotency-guard.ts';
import type { Ingest } from './ingest.ts';
import { Push } from './push.ts';
import type { Reading } from './reading.ts';
import type { Writer } from './writer.ts';

export interface BulkLine {
  /** Number of the line, from 1. */
  readonly line: number;
  readonly device: DeviceId;
  readonly sensor: SensorId;
  readonly reading: Reading;
}

export interface RefusedLine {
  readonly line: number;
  readonly detail: string;
}

/** A parsed request: the valid lines, and the refused ones with the reason. */
export interface BulkRequest {
  readonly lines: readonly BulkLine[];
  readonly refused: readonly RefusedLine[];
  /** True when no rule is evaluated for these datapoints. */
  readonly skipsRules?: boolean;
}

export interface BulkResult {
  readonly accepted: number;
  /** In the order of the request. */
  readonly refused: readonly RefusedLine[];
}

export class Bulk {
  readonly #ingest: Ingest;
  readonly #directory: DeviceDirectory;
  readonly #permissions: Permissions;
  readonly #writer: Writer;
  readonly #clock: Clock;
  readonly #idempotencyGuard: IdempotencyGuard<BulkResult>;

  constructor(parts: {
    readonly ingest: Ingest;
    readonly directory: DeviceDirectory;
    readonly permissions: Permissions;
    readonly writer: Writer;
    readonly commitLog: ReceiptClaims;
    readonly clock: Clock;
    readonly clocks: Pick<AgeClocks, 'forAge' | 'forExpiry'>;
    readonly receiptHours: number;
  }) {
    this.#ingest = parts.ingest;
    this.#directory = parts.directory;
    this.#permissions = parts.permissions;
    this.#writer = parts.writer;
    this.#clock = parts.clock;
    this.#idempotencyGuard = new IdempotencyGuard(parts);
  }

  /**
   * Stores the permitted lines; resolves after the commit.
   * @throws Refusal `busy`, `storage`: then nothing was stored.
   */
  async accept(actor: Actor, request: BulkRequest): Promise<BulkResult> {
    this.#permissions.requireGuestAllowed(actor);
    return this.#append(actor, request);
  }

  /**
   * Like `accept`, but stores the request once, however often it is repeated within 24 hours under the same key. A
   * repeat gets the first answer.
   * @throws Refusal `conflict` when the key came with another body before.
   */
  async acceptOnce(actor: Actor, request: BulkRequest, key: IdempotencyKey): Promise<BulkResult> {
    this.#permissions.requireGuestAllowed(actor);
    const first = (receipt: PushReceipt) => this.#append(actor, request, receipt);
    return this.#idempotencyGuard.run({ caller: actor.caller.key, key, first, again: unpack });
  }

  async #append(actor: Actor, { lines, refused, skipsRules }: BulkRequest, receipt?: PushReceipt): Promise<BulkResult> {
    const groups = [...Map.groupBy(lines, ({ device, sensor }) => `${device}\n${sensor}`).values()];
    await this.#directory.loadAll(new Set(lines.map(({ device }) => device)));
    // No await from here to the queue, so that no removal can happen in between.
    const pushes: Push[] = [];
    const faults = [...refused];
    let accepted = 0;
    for (const group of groups) {
      const push = this.#resolve(actor, group, skipsRules);
      if (typeof push === 'string') for (const { line } of group) faults.push({ line, detail: push });
      else {
        pushes.push(push);
        accepted += group.length;
      }
    }
    const answer = { accepted, refused: faults.sort((a, b) => a.line - b.line) };
    if (accepted > 0) {
      const { caller } = actor;
      await this.#writer.append({ caller, pushes, receipt: receipt && { ...receipt, answer: pack(answer) } });
    }
    return answer;
  }

  /** The push of one sensor's lines, or why it is refused. */
  #resolve(actor: Actor, group: readonly BulkLine[], skipsRules: boolean | undefined): Push | string {
    const { device: id, sensor } = group[0] as BulkLine;
    const device = this.#directory.peek(id);
    if (device === undefined) return `There is no device ${id}.`;
    try {
      const sensorRef = this.#ingest.resolve(actor, device, sensor);
      const readings = group.map(({ reading }) => reading);
      return new Push(sensorRef, readings, this.#clock.now(), { skipsRules });
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      throw error;
    }
  }
}

/** The answer as it is stored in the receipt; compact where many lines are refused for the same reason. */
function pack({ accepted, refused }: BulkResult): string {
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

function unpack(text: string): BulkResult {
  const [accepted, ...reasons] = JSON.parse(text) as [number, ...[string, ...number[]][]];
  const refused = reasons.flatMap(([detail, ...lines]) => lines.map((line) => ({ line, detail })));
  return { accepted, refused: refused.sort((a, b) => a.line - b.line) };
}
