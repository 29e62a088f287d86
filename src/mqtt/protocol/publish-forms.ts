// The bytes of a message to subscribers [3.3], encoded once for each version, QoS and RETAIN, however many subscribers get
// it. What differs between them, the packet id, DUP and the seconds that remain, is put into a copy; aliases and subscription
// identifiers make a form of their own. Pure; used by what delivers.
import { limits } from '../../config/limits.ts';
import { type ProtocolVersion, propertyIds, type Qos } from './packet-types.ts';
import { noProperties } from './properties.ts';
import { variableIntegerBytes, writeVariableInteger } from './variable-integers.ts';

/** A PUBLISH packet as bytes. Shared among subscribers, and so never changed. */
export interface PublishForm {
  readonly bytes: Buffer;
  /** The payload, where it is large and a form of few receivers: it goes behind `bytes`, which is without it then. */
  readonly tail: Buffer | undefined;
  /** Where the two bytes of the packet id are; -1 with QoS 0, which has none. */
  readonly idAt: number;
  /** Where the four bytes of the seconds until the message expires are; -1: it does not, or the receiver is not told. */
  readonly expiryAt: number;
}

/** What a message has for its receivers. */
export interface PublishContent {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  /** Of version 5, as `forwardableProperties` has them; other versions are not told. */
  readonly properties?: Buffer | undefined;
  /** Seconds until it expires. */
  readonly expiryS?: number | undefined;
}

/** What one receiver of version 5 gets besides. */
export interface ReceiverProperties {
  readonly subscriptionIds?: readonly number[];
  /** `isKnown`: the receiver knows its topic, which is left out. */
  readonly alias?: { readonly alias: number; readonly isKnown: boolean } | undefined;
}

/** By how much a topic alias makes a packet larger at most: its property, and two lengths that may take a byte more. */
export const aliasBytesMax = 5;

interface Build {
  readonly isV5: boolean;
  /** QoS and RETAIN. */
  readonly flags: number;
  readonly receiver: ReceiverProperties;
  readonly isSplit: boolean;
}

const noReceiver: ReceiverProperties = {};
const noIds: readonly number[] = [];
const nothing = (): void => {};

function noForms(): (PublishForm | undefined)[] {
  return [undefined, undefined, undefined, undefined, undefined, undefined];
}

/** A message with the forms in which it was asked for. */
export class PublishForms {
  readonly #topic: string;
  readonly #payload: Buffer;
  readonly #properties: Buffer;
  readonly #expiryS: number | undefined;
  readonly #onEncoded: () => void;
  /** By QoS and RETAIN, of versions 3.1 and 3.1.1, and of 5: each made where it is asked for. */
  #older: (PublishForm | undefined)[] | undefined;
  #ofV5: (PublishForm | undefined)[] | undefined;
  /** The form of the last receivers with identifiers: those behind them often have the same. */
  #ofIds: { readonly flags: number; readonly ids: readonly number[]; readonly form: PublishForm } | undefined;

  /** @param onEncoded called for each form that is made. */
  constructor({ topic, payload, properties = noProperties, expiryS }: PublishContent, onEncoded: () => void = nothing) {
    this.#topic = topic;
    this.#payload = typeof payload === 'string' ? Buffer.from(payload) : asBuffer(payload);
    this.#properties = properties;
    this.#expiryS = expiryS;
    this.#onEncoded = onEncoded;
  }

  /** The message as it goes out to most. @param isRetain as it is sent: kept from before, or published so. */
  of(version: ProtocolVersion, qos: Qos, isRetain = false): PublishForm {
    const flags = (qos << 1) | (isRetain ? 1 : 0);
    const isV5 = version === 5;
    const forms = (isV5 ? this.#ofV5 : this.#older) ?? noForms();
    const known = forms[flags];
    if (known !== undefined) return known;
    const form = this.#encode({ isV5, flags, receiver: noReceiver, isSplit: false });
    forms[flags] = form;
    if (isV5) this.#ofV5 = forms;
    else this.#older = forms;
    return form;
  }

  /** The message for a receiver of version 5 with identifiers or an alias. */
  ofReceiver(qos: Qos, isRetain: boolean, receiver: ReceiverProperties): PublishForm {
    const { subscriptionIds = noIds, alias } = receiver;
    if (alias === undefined && subscriptionIds.length === 0) return this.of(5, qos, isRetain);
    const flags = (qos << 1) | (isRetain ? 1 : 0);
    const last = this.#ofIds;
    if (alias === undefined && last?.flags === flags && isSame(last.ids, subscriptionIds)) return last.form;
    const isSplit = this.#payload.length > limits.joinedWriteBytesMax;
    const form = this.#encode({ isV5: true, flags, receiver, isSplit });
    if (alias === undefined) this.#ofIds = { flags, ids: [...subscriptionIds], form };
    return form;
  }

  #encode({ isV5, flags, receiver, isSplit }: Build): PublishForm {
    this.#onEncoded();
    const { subscriptionIds = noIds, alias } = receiver;
    const topic = alias?.isKnown === true ? '' : this.#topic;
    const topicBytes = Buffer.byteLength(topic);
    const idBytes = flags > 1 ? 2 : 0;
    let properties = isV5 ? this.#properties.length + (this.#expiryS === undefined ? 0 : 5) : 0;
    if (alias !== undefined) properties += 3;
    for (const id of subscriptionIds) properties += 1 + variableIntegerBytes(id);
    const length =
      2 + topicBytes + idBytes + (isV5 ? variableIntegerBytes(properties) : 0) + properties + this.#payload.length;
    const headBytes = 1 + variableIntegerBytes(length) + length - this.#payload.length;
    const bytes = Buffer.allocUnsafe(isSplit ? headBytes : headBytes + this.#payload.length);
    bytes[0] = 0x30 | flags;
    let at = writeVariableInteger(bytes, 1, length);
    bytes.writeUInt16BE(topicBytes, at);
    at += 2;
    at += bytes.write(topic, at);
    const idAt = idBytes > 0 ? at : -1;
    // Zero until it is known: never a byte of somebody else's memory.
    if (idAt >= 0) bytes.writeUInt16BE(0, at);
    at += idBytes;
    const expiryAt = isV5 ? this.#writeProperties(bytes, writeVariableInteger(bytes, at, properties), receiver) : -1;
    if (!isSplit) bytes.set(this.#payload, headBytes);
    return { bytes, tail: isSplit ? this.#payload : undefined, idAt, expiryAt };
  }

  /** @returns where the seconds until the message expires are. */
  #writeProperties(bytes: Buffer, from: number, { subscriptionIds = noIds, alias }: ReceiverProperties): number {
    let at = from;
    let expiryAt = -1;
    if (this.#expiryS !== undefined) {
      bytes[at] = propertyIds.messageExpiryInterval;
      expiryAt = at + 1;
      at = bytes.writeUInt32BE(this.#expiryS, expiryAt);
    }
    if (alias !== undefined) {
      bytes[at] = propertyIds.topicAlias;
      at = bytes.writeUInt16BE(alias.alias, at + 1);
    }
    for (const id of subscriptionIds) {
      bytes[at] = propertyIds.subscriptionIdentifier;
      at = writeVariableInteger(bytes, at + 1, id);
    }
    bytes.set(this.#properties, at);
    return expiryAt;
  }
}

/** Bytes of the whole packet, which must not be more than its receiver takes [MQTT-3.1.2-24]. */
export function packetBytesOf({ bytes, tail }: PublishForm): number {
  return bytes.length + (tail?.length ?? 0);
}

/** A copy of the form's bytes, without its tail, for one receiver. @param own.expiryS the seconds that remain. */
export function patched(
  { bytes, idAt, expiryAt }: PublishForm,
  own: { readonly packetId?: number; readonly isDup?: boolean; readonly expiryS?: number | undefined },
): Buffer {
  const copy = Buffer.from(bytes);
  if (own.isDup === true) copy[0] = (copy[0] as number) | 8;
  if (idAt >= 0 && own.packetId !== undefined) copy.writeUInt16BE(own.packetId, idAt);
  if (expiryAt >= 0 && own.expiryS !== undefined) copy.writeUInt32BE(own.expiryS, expiryAt);
  return copy;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isSame(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id, n) => id === other[n]);
}
