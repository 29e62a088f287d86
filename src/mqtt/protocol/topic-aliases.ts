// Numbers in place of topics, of one connection [3.3.2.3.4]: those that a client has set, and those set for it. Made only
// where they are used; nothing is carried over to another connection [MQTT-3.3.2-7]. Used by the session.
import { entryBytes, textHeapBytes } from '../../base/memory/heap-bytes.ts';
import { limits } from '../../config/limits.ts';
import { reasonCodes } from './reason-codes.ts';

/** A topic, or why there is none. */
export type ResolvedTopic =
  | { readonly topic: string }
  | { readonly reasonCode: typeof reasonCodes.topicAliasInvalid | typeof reasonCodes.protocolError };

/** Aliases that a client has set. */
export class InboundAliases {
  readonly #max: number;
  #topics: Map<number, string> | undefined;
  #bytes = 0;

  /** @param max the Topic Alias Maximum that the client was told; 0 where it was told none. */
  constructor(max: number) {
    this.#max = max;
  }

  /** What is remembered, bytes, about: at most `max` topics of `limits.topicBytesMax`. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The topic of a PUBLISH with an alias.
   * @param topic as it is in the packet: not empty, it sets the alias. A longer one than `limits.topicBytesMax`, which belongs
   *   to nothing, is remembered as the empty topic, and resolved to that.
   */
  resolve(alias: number, topic: string): ResolvedTopic {
    // [MQTT-3.3.2-8], [MQTT-3.3.2-9]
    if (alias === 0 || alias > this.#max) return { reasonCode: reasonCodes.topicAliasInvalid };
    if (topic !== '') {
      this.#set(alias, Buffer.byteLength(topic) > limits.topicBytesMax ? '' : topic);
      return { topic };
    }
    const known = this.#topics?.get(alias);
    return known === undefined ? { reasonCode: reasonCodes.protocolError } : { topic: known };
  }

  #set(alias: number, topic: string): void {
    this.#topics ??= new Map();
    const before = this.#topics.get(alias);
    if (before === topic) return;
    this.#topics.set(alias, topic);
    this.#bytes += bytesOf(topic) - (before === undefined ? 0 : bytesOf(before));
  }
}

/** What a message to a client goes out under. `isKnown`: the client knows the topic of this alias. */
export interface OutboundAlias {
  readonly alias: number;
  readonly isKnown: boolean;
}

/** Aliases that are set for a client: its topics that were used last have them. */
export class OutboundAliases {
  readonly #max: number;
  /** By topic; the one that was used longest ago is first. */
  #aliases: Map<string, number> | undefined;
  #bytes = 0;

  /** @param max the Topic Alias Maximum of the client; 0: it takes none [MQTT-3.1.2-26, MQTT-3.1.2-27]. */
  constructor(max: number) {
    this.#max = Math.min(max, limits.topicAliasesOutMax);
  }

  /** What is remembered, bytes, about. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The alias of a topic, which is set where it is new; undefined: the topic goes out without one. Asked for when the
   * message is written, as the client must get every message that sets an alias, in this order.
   */
  aliasOf(topic: string): OutboundAlias | undefined {
    if (this.#max === 0 || topic.length > limits.topicBytesMax) return undefined;
    this.#aliases ??= new Map();
    const known = this.#aliases.get(topic);
    if (known !== undefined) {
      this.#aliases.delete(topic);
      this.#aliases.set(topic, known);
      return { alias: known, isKnown: true };
    }
    const alias = this.#aliases.size < this.#max ? this.#aliases.size + 1 : this.#takeOldest(this.#aliases);
    this.#aliases.set(topic, alias);
    this.#bytes += bytesOf(topic);
    return { alias, isKnown: false };
  }

  #takeOldest(aliases: Map<string, number>): number {
    const [topic, alias] = aliases.entries().next().value as [string, number];
    aliases.delete(topic);
    this.#bytes -= bytesOf(topic);
    return alias;
  }
}

function bytesOf(topic: string): number {
  return entryBytes + textHeapBytes(topic);
}
