// A stored MQTT session in memory. There may be a hundred thousand, most of them
// without a client, so maps are created only when they have an entry.
import type { Subscription, SubscriptionOptions } from '../../../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../../../domain/users/user.ts';

/** A message that was sent under a packet id and not acknowledged yet. */
export interface SentMessage {
  readonly message: number;
  /** Bytes charged to the user's quota. */
  readonly bytes: number;
  /** For QoS 2, set when PUBREC came; resolves when that is stored. */
  released?: Promise<void>;
}

/** An inbound QoS 2 message that awaits PUBREL. */
export interface IncomingMessage {
  /** Resolves when it is stored; undefined: it is held in memory alone. */
  readonly stored: Promise<unknown> | undefined;
  /** Bytes charged to the user's quota. */
  readonly bytes: number;
}

export class StoredSession {
  readonly key: number;
  readonly clientId: string;
  /** The owner; undefined for a session of an earlier release whose client has not come back. */
  user: UserKey | undefined;
  /** When its client went away, in milliseconds since 1970 UTC; undefined while it is connected. */
  awayMs: number | undefined;
  /** Seconds for which it is kept after that, as its client asked; undefined: as long as its user may have it. */
  expiryS: number | undefined;
  /** True when its row is on disk; until then each write inserts the row first. */
  stored: boolean;
  /** True once the session was ended: bytes still under way are charged to nobody. */
  ended = false;
  /** Set while messages that come are not kept for it: it has missed those behind this row of the log. */
  behindRow: number | undefined;
  /** The write of the last SUBSCRIBE packet, while it is under way. */
  subscribing: Promise<void> | undefined;
  #finishing: Set<number> | undefined;
  /** Rows in its queue, including pending writes, and their bytes charged to the quota. */
  queued = 0;
  queuedBytes = 0;
  /** Messages not kept since the start, because the session or its user's quota was full. */
  notKept = 0;
  #filterBytes = 0;
  #incomingBytes = 0;
  #filters: Map<string, SubscriptionOptions> | undefined;
  #sent: Map<number, SentMessage> | undefined;
  #incoming: Map<number, IncomingMessage> | undefined;

  constructor(
    key: number,
    clientId: string,
    options: {
      readonly user?: UserKey | undefined;
      readonly awayMs?: number | undefined;
      readonly expiryS?: number | undefined;
      readonly stored?: boolean;
    } = {},
  ) {
    this.key = key;
    this.clientId = clientId;
    this.user = options.user;
    this.awayMs = options.awayMs;
    this.expiryS = options.expiryS;
    this.stored = options.stored ?? false;
  }

  /** Bytes charged to the quota for its filters, its queue and inbound messages. */
  get heldBytes(): number {
    return this.#filterBytes + this.#incomingBytes + this.queuedBytes;
  }

  get filters(): ReadonlyMap<string, SubscriptionOptions> {
    return this.#filters ?? noFilters;
  }

  putFilter(filter: string, options: SubscriptionOptions): void {
    this.#filters ??= new Map();
    if (!this.#filters.has(filter)) this.#filterBytes += filterCost(filter);
    this.#filters.set(filter, options);
  }

  removeFilter(filter: string): void {
    if (this.#filters?.delete(filter)) this.#filterBytes -= filterCost(filter);
    if (this.#filters?.size === 0) this.#filters = undefined;
  }

  /** By packet id. */
  get sent(): ReadonlyMap<number, SentMessage> {
    return this.#sent ?? noneSent;
  }

  putSent(packetId: number, sent: SentMessage): void {
    this.#sent ??= new Map();
    this.#sent.set(packetId, sent);
  }

  removeSent(packetId: number): void {
    this.#sent?.delete(packetId);
    if (this.#sent?.size === 0) this.#sent = undefined;
  }

  /** The messages that were acknowledged, where that is on its way to the disk now. */
  finishing(): ReadonlySet<number> {
    return new Set(this.#finishing);
  }

  beginFinish(message: number): void {
    this.#finishing ??= new Set();
    this.#finishing.add(message);
  }

  endFinish(message: number): void {
    this.#finishing?.delete(message);
    if (this.#finishing?.size === 0) this.#finishing = undefined;
  }

  /** By packet id. */
  get incoming(): ReadonlyMap<number, IncomingMessage> {
    return this.#incoming ?? noneIncoming;
  }

  putIncoming(packetId: number, incoming: IncomingMessage): void {
    this.#incoming ??= new Map();
    this.#incomingBytes += incoming.bytes - (this.#incoming.get(packetId)?.bytes ?? 0);
    this.#incoming.set(packetId, incoming);
  }

  removeIncoming(packetId: number): void {
    this.#incomingBytes -= this.#incoming?.get(packetId)?.bytes ?? 0;
    this.#incoming?.delete(packetId);
    if (this.#incoming?.size === 0) this.#incoming = undefined;
  }
}

/** What a filter counts for a quota: its text, and the overhead of its row. */
export function filterCost(filter: string): number {
  return filter.length + 64;
}

const noFilters: ReadonlyMap<string, SubscriptionOptions> = new Map();
const noneSent: ReadonlyMap<number, SentMessage> = new Map();
const noneIncoming: ReadonlyMap<number, IncomingMessage> = new Map();

/** Bytes of the messages queued for the session, and of inbound ones that await PUBREL. */
export function inFlightBytesOf({ queuedBytes, incoming }: StoredSession): number {
  let bytes = queuedBytes;
  for (const message of incoming.values()) bytes += message.bytes;
  return bytes;
}

/** The options of a subscription as they are stored. */
export function optionsOf({ qos, rh, rap, nl, subscriptionIdentifier: identifier }: Subscription): SubscriptionOptions {
  return { qos, rh, rap, nl, ...(identifier !== undefined && { subscriptionIdentifier: identifier }) };
}

export function isSame(a: SubscriptionOptions, b: SubscriptionOptions): boolean {
  if (a.qos !== b.qos || a.rh !== b.rh || a.rap !== b.rap || a.nl !== b.nl) return false;
  return a.subscriptionIdentifier === b.subscriptionIdentifier;
}
