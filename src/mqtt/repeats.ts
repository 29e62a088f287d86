// Tells a repeated PUBLISH from a new one (contract 8). A repeat has DUP set, and packet id, topic and payload all
// equal what the session last published under that packet id. The memory is bounded, holds for a named window, and is
// written in the datapoint's own commit, so that it survives a crash. In doubt: not a repeat.
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { PublishMark, RememberedPublish } from '../domain/datapoints/datapoint-store.ts';

export class Repeats {
  readonly #windowMs: number;
  readonly #max: number;
  /** Where in the ring each slot's last publish stands. */
  readonly #places = new Map<number, number>();
  readonly #slots: Float64Array;
  readonly #contents: Float64Array;
  readonly #times: Float64Array;
  #next = 0;
  /** Publishes whose commit is under way. Bounded by the writer's queue. */
  readonly #underWay = new Map<number, { readonly content: number; readonly done: Promise<void> }>();

  constructor(options: { readonly max: number; readonly windowMs: number }) {
    this.#max = options.max;
    this.#windowMs = options.windowMs;
    this.#slots = new Float64Array(options.max).fill(Number.NaN);
    this.#contents = new Float64Array(options.max);
    this.#times = new Float64Array(options.max);
  }

  /** Takes over what was remembered before the start. */
  restore(publishes: readonly RememberedPublish[]): void {
    for (const publish of publishes) this.remember(publish, publish.atMs);
  }

  /** The commit of the publish that this one repeats: done already, or under way. Undefined: it is new. */
  find(mark: PublishMark, nowMs: number): Promise<void> | undefined {
    const underWay = this.#underWay.get(mark.slot);
    if (underWay !== undefined) return underWay.content === mark.content ? underWay.done : undefined;
    const place = this.#places.get(mark.slot);
    if (place === undefined || this.#contents[place] !== mark.content) return undefined;
    return nowMs - (this.#times[place] as number) <= this.#windowMs ? Promise.resolve() : undefined;
  }

  /** Notes that the commit of a publish is under way. */
  begin(mark: PublishMark, done: Promise<void>): void {
    this.#underWay.set(mark.slot, { content: mark.content, done });
  }

  end(mark: PublishMark, done: Promise<void>): void {
    if (this.#underWay.get(mark.slot)?.done === done) this.#underWay.delete(mark.slot);
  }

  remember(mark: PublishMark, atMs: number): void {
    const place = this.#next;
    this.#next = (place + 1) % this.#max;
    const before = this.#slots[place] as number;
    if (this.#places.get(before) === place) this.#places.delete(before);
    this.#slots[place] = mark.slot;
    this.#contents[place] = mark.content;
    this.#times[place] = atMs;
    this.#places.set(mark.slot, place);
  }
}

/** A number for a session (36 bits), to be joined with packet ids. */
export function sessionNumber(username: string, clientId: string): number {
  return createHash('sha256').update(`${username}\0${clientId}`).digest().readUIntBE(0, 6) % 2 ** 36;
}

/** What was published; `part` numbers the sensor or actuator: one that was removed and made again is another. */
export interface PublishedContent {
  readonly topic: string;
  readonly payload: Buffer;
  readonly part: number;
}

/** Names what a session published under a packet id; two numbers that doubles hold exactly. */
export function publishMark(session: number, packetId: number, content: PublishedContent): PublishMark {
  return { slot: session * 65_536 + packetId, content: contentNumber(content) };
}

/** 52 bits over part, topic and payload: a CRC, and an independent sum, so that one alone does not decide. */
function contentNumber({ topic, payload, part }: PublishedContent): number {
  let sum = topic.length;
  for (let i = 0; i < payload.length; i++) sum = Math.imul(sum ^ (payload[i] as number), 0x01000193);
  return crc32(payload, crc32(topic, part >>> 0)) * 0x100000 + (sum >>> 12);
}
