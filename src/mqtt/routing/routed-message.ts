// A message on its way to subscribers: what is sent, what decides about its receivers, and its number once it is stored.

import type { SettingId } from '../../domain/devices/setting.ts';
import type { StoredPacket } from '../../domain/ports/mqtt-sessions.ts';
import type { UserKey } from '../../domain/users/user.ts';
import type { Qos } from '../protocol/packet-types.ts';
import type { Levels } from '../topics.ts';
import type { OutgoingPublish } from './publish-router.ts';

export class RoutedMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly qos: Qos;
  readonly retain: boolean;
  readonly device: number | undefined;
  readonly part: number | undefined;
  readonly setting: SettingId | undefined;
  readonly exactLevels: Levels | undefined;
  readonly user: UserKey | undefined;
  readonly isOfGuest: boolean | undefined;
  readonly properties: Buffer | undefined;
  readonly expiresMs: number | undefined;
  /** The client that published it. */
  readonly publisherId: string | undefined;
  /** Set once it is stored for sessions: together they identify it. */
  brokerId: string | null | undefined;
  brokerCounter: number | undefined;

  constructor(publish: OutgoingPublish) {
    this.topic = publish.topic;
    this.payload = publish.payload;
    this.qos = publish.qos;
    this.retain = publish.retain;
    this.device = publish.device;
    this.part = publish.part;
    this.setting = publish.setting;
    this.exactLevels = publish.exactLevels;
    this.user = publish.user;
    this.isOfGuest = publish.isOfGuest;
    this.properties = publish.properties;
    this.expiresMs = publish.expiresMs;
    this.publisherId = publish.publisherId;
  }

  /** As it is stored: fields that are undefined are left out. */
  toStore(): StoredPacket {
    const { topic, payload, qos, retain, device, part, setting, exactLevels, user, isOfGuest } = this;
    const { properties, expiresMs, publisherId } = this;
    const packet = { cmd: 'publish', dup: false, topic, payload, qos, retain };
    const publishedRetain = retain ? true : undefined;
    const said = { properties, expiresMs, publishedRetain, publisherId };
    return { ...packet, device, part, setting, exactLevels, user, isOfGuest, ...said } as StoredPacket;
  }
}
