// What delivery hands to the router, and what it asks of it: the interface of router.ts towards delivery.ts and
// delivery-queue.ts.
import type { SettingId } from '../../domain/devices/setting.ts';
import type { UserKey } from '../../domain/users/user.ts';
import type { Levels } from '../topics.ts';
import type { Receipt } from './receipt.ts';

export interface OutgoingPublish {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  /** Key of the device or gateway: messages kept for a removed one are not delivered to a new one with the same id. */
  readonly device?: number;
  /** Key of the sensor or actuator, for the same reason. */
  readonly part?: number;
  /** The entry in the history of the actuator. */
  readonly setting?: SettingId | undefined;
  /** Levels of the topic that filters must name, because they are former ids. */
  readonly exactLevels?: Levels | undefined;
  /** The publisher, who is charged for a retained message. */
  readonly user?: UserKey | undefined;
  /** Whether a guest published it: it takes only a part of what may wait for a user. */
  readonly isOfGuest?: boolean | undefined;
  /** Of version 5: what the publisher said beside topic and payload, and when it may be delivered no more. */
  readonly properties?: Buffer | undefined;
  readonly expiresMs?: number | undefined;
  /** The client that published it; undefined: the service, or it came over HTTP. */
  readonly publisherId?: string | undefined;
  /** Of a message of QoS 2: it is sent to nobody where its receipt cannot be stored. The receipt's writing has begun. */
  readonly receipt?: Receipt | undefined;
  /**
   * Its publisher was told that it is stored, and does not send it again: what is stored of it for sessions is tried until it stands.
   * Meanwhile all that comes later waits, so that no session gets it in another order.
   */
  readonly isPromised?: boolean;
  /** Only changes the retained message; delivered to nobody. */
  readonly isSilent?: boolean;
}

/** What decides, beside the topic, whether a message has recipients. */
export interface MessageKind {
  readonly qos: number;
  readonly retain: boolean;
  readonly user?: UserKey | undefined;
  readonly exactLevels?: Levels | undefined;
}

/** Called once, at once or later; with an error where the message could not be stored. */
export type Routed = (error?: unknown) => void;

/** What delivery needs of the router. */
export interface PublishRouter {
  /** False when there are no subscriptions at all. */
  readonly isWatched: boolean;
  /** Whether a message has waited for long to be stored, and all others behind it. */
  readonly isHeldUp: boolean;
  /** Whether any connected client or stored session is to get a message on this topic, or it is retained. */
  wants(topic: string, options: MessageKind): boolean;
  /** How many subscriptions of connected clients match a topic, and name the levels that must be named. */
  subscribersOf(topic: string, exactLevels?: Levels): number;
  /** Whether a group with a shared subscription may get a message on this topic. */
  hasGroups(topic: string): boolean;
  /** Messages handed to subscribers since the start: one message counts for each of its subscribers. */
  readonly handedOut: number;
  /** Routes the message; calls `done` when its subscribers have it, or it is queued for them. `flush` is owed then. */
  route(message: OutgoingPublish, done: Routed): void;
  /** Writes to subscribers what was routed to them. */
  flush(): void;
}
