// What a connection of version 5 has beside what all have: what its CONNECT asked for, its topic aliases, and what it has not
// acknowledged. Made for these connections alone, and the tables in it when they are used.
import { limits } from '../../config/limits.ts';
import { InboundAliases, OutboundAliases } from '../protocol/topic-aliases.ts';
import { SendWindow } from './send-window.ts';

export interface ConnectOptions {
  /** Seconds for which the session is kept after the connection; 0: not at all. */
  readonly sessionExpiryS: number;
  /** Messages of QoS 1 and 2 that may be sent to it and not acknowledged. */
  readonly receiveMaximum: number;
  /** Bytes of a packet that it takes; undefined: any. */
  readonly packetBytesMax: number | undefined;
  /** Aliases that it takes for topics. */
  readonly topicAliasMaximum: number;
  /** Whether it wants reason strings. */
  readonly wantsReasons: boolean;
  /** Whether it asked where answers may be sent to. */
  readonly wantsResponseInformation: boolean;
}

/** What `sessionExpiryS` says where the session is kept as long as may be [3.1.2.11.2]. */
export const foreverS = 0xffff_ffff;

export class Version5 {
  readonly options: ConnectOptions;
  /** As DISCONNECT may change it. */
  sessionExpiryS: number;
  readonly inbound = new InboundAliases(limits.topicAliasesMax);
  readonly outbound: OutboundAliases;
  readonly window: SendWindow;
  /** Publishes of QoS 1 and 2 that it was not answered yet [MQTT-3.3.4-7]. */
  unanswered = 0;

  constructor(options: ConnectOptions) {
    this.options = options;
    this.sessionExpiryS = options.sessionExpiryS;
    this.outbound = new OutboundAliases(options.topicAliasMaximum);
    this.window = new SendWindow(options.receiveMaximum);
  }

  /** Seconds for which the store keeps the session; undefined: as long as may be. */
  get keptS(): number | undefined {
    return this.sessionExpiryS === foreverS ? undefined : this.sessionExpiryS;
  }

  /** Bytes of its topic aliases, and how many of them are counted (owed-bytes.ts). */
  get aliasBytes(): number {
    return this.inbound.bytes + this.outbound.bytes;
  }
  countedAliasBytes = 0;

  /** What the client is told besides a code. */
  words(reason: string | undefined): {
    readonly reason: string | undefined;
    readonly packetBytesMax: number | undefined;
  } {
    const { wantsReasons, packetBytesMax } = this.options;
    return { reason: wantsReasons ? reason : undefined, packetBytesMax };
  }
}
