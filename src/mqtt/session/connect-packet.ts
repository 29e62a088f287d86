// What a CONNECT says, in the words of the service. The packet has no fault.
import { randomUUID } from 'node:crypto';
import type { ProtocolVersion } from '../protocol/packet-types.ts';
import { type ConnectPacket, parsePacket } from '../protocol/parsed-packets.ts';
import type { ConnectOptions } from './version5.ts';
import type { Will } from './will.ts';

export interface Hello {
  readonly version: ProtocolVersion;
  /** Chosen by the service where the client brings none [MQTT-3.1.3-6]. */
  readonly clientId: string;
  readonly isIdAssigned: boolean;
  /** Whether it takes up nothing that was kept for it: Clean Session, Clean Start. */
  readonly isFresh: boolean;
  readonly keepAliveS: number;
  readonly username: string | undefined;
  readonly password: Buffer | undefined;
  readonly will: Will | undefined;
  /** Of version 5. */
  readonly options: ConnectOptions | undefined;
  /** Of version 5: the client wants to sign in by more than CONNECT. */
  readonly authenticationMethod: string | undefined;
}

export function readConnect(bytes: Buffer): Hello {
  const packet = parsePacket(bytes, 4) as ConnectPacket;
  const { clientId, protocolVersion = 4, clean = false, keepalive = 0, username, password, properties } = packet;
  const isIdAssigned = clientId === '' || clientId === undefined;
  return {
    version: protocolVersion,
    clientId: isIdAssigned ? `auto-${randomUUID()}` : clientId,
    isIdAssigned,
    isFresh: clean,
    keepAliveS: keepalive,
    username,
    password,
    will: willOf(packet),
    options: protocolVersion === 5 ? optionsOf(properties) : undefined,
    authenticationMethod: properties?.authenticationMethod,
  };
}

function optionsOf(properties: ConnectPacket['properties'] = {}): ConnectOptions {
  return {
    sessionExpiryS: properties.sessionExpiryInterval ?? 0,
    receiveMaximum: properties.receiveMaximum ?? 65_535,
    packetBytesMax: properties.maximumPacketSize,
    topicAliasMaximum: properties.topicAliasMaximum ?? 0,
    wantsReasons: properties.requestProblemInformation !== false,
    wantsResponseInformation: properties.requestResponseInformation === true,
  };
}

function willOf({ will, willProperties }: ConnectPacket): Will | undefined {
  if (will === undefined) return undefined;
  const { topic, payload, qos = 0, retain = false, properties = {} } = will;
  return {
    ...{ topic, payload: Buffer.from(payload), qos, retain },
    ...(willProperties.length === 0 ? {} : { properties: willProperties }),
    ...(properties.willDelayInterval === undefined ? {} : { delayS: properties.willDelayInterval }),
    ...(properties.messageExpiryInterval === undefined ? {} : { expiryS: properties.messageExpiryInterval }),
  };
}
