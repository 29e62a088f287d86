// Numbers of MQTT that all files of this folder share: versions, types of packets, properties [2.1.2, 2.2.2.2].

/** The protocol level of a connection: MQTT 3.1, 3.1.1 or 5.0. */
export type ProtocolVersion = 3 | 4 | 5;

export type Qos = 0 | 1 | 2;

/** The upper four bits of the first byte. */
export const packetTypes = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
  auth: 15,
} as const;

/** Types of those packets that answer one step of a PUBLISH. */
export type AcknowledgementType =
  | typeof packetTypes.puback
  | typeof packetTypes.pubrec
  | typeof packetTypes.pubrel
  | typeof packetTypes.pubcomp;

export const propertyIds = {
  payloadFormatIndicator: 0x01,
  messageExpiryInterval: 0x02,
  contentType: 0x03,
  responseTopic: 0x08,
  correlationData: 0x09,
  subscriptionIdentifier: 0x0b,
  sessionExpiryInterval: 0x11,
  assignedClientIdentifier: 0x12,
  serverKeepAlive: 0x13,
  authenticationMethod: 0x15,
  authenticationData: 0x16,
  requestProblemInformation: 0x17,
  willDelayInterval: 0x18,
  requestResponseInformation: 0x19,
  responseInformation: 0x1a,
  serverReference: 0x1c,
  reasonString: 0x1f,
  receiveMaximum: 0x21,
  topicAliasMaximum: 0x22,
  topicAlias: 0x23,
  maximumQos: 0x24,
  retainAvailable: 0x25,
  userProperty: 0x26,
  maximumPacketSize: 0x27,
  wildcardSubscriptionAvailable: 0x28,
  subscriptionIdentifierAvailable: 0x29,
  sharedSubscriptionAvailable: 0x2a,
} as const;

/** How the value of a property is written [1.5]. */
export const valueKinds = {
  /** No property has such a number. */
  none: 0,
  byte: 1,
  twoBytes: 2,
  fourBytes: 3,
  variable: 4,
  text: 5,
  binary: 6,
  pair: 7,
} as const;

/** By number of the property. */
const kindOfProperty: Uint8Array = new Uint8Array(0x2b);
{
  const p = propertyIds;
  const kinds: readonly (readonly [kind: number, ids: readonly number[]])[] = [
    [
      valueKinds.byte,
      [
        ...[p.payloadFormatIndicator, p.requestProblemInformation, p.requestResponseInformation, p.maximumQos],
        ...[p.retainAvailable, p.wildcardSubscriptionAvailable, p.subscriptionIdentifierAvailable],
        p.sharedSubscriptionAvailable,
      ],
    ],
    [valueKinds.twoBytes, [p.serverKeepAlive, p.receiveMaximum, p.topicAliasMaximum, p.topicAlias]],
    [
      valueKinds.fourBytes,
      [p.messageExpiryInterval, p.sessionExpiryInterval, p.willDelayInterval, p.maximumPacketSize],
    ],
    [valueKinds.variable, [p.subscriptionIdentifier]],
    [
      valueKinds.text,
      [
        ...[p.contentType, p.responseTopic, p.assignedClientIdentifier, p.authenticationMethod],
        ...[p.responseInformation, p.serverReference, p.reasonString],
      ],
    ],
    [valueKinds.binary, [p.correlationData, p.authenticationData]],
    [valueKinds.pair, [p.userProperty]],
  ];
  for (const [kind, ids] of kinds) for (const id of ids) kindOfProperty[id] = kind;
}

/** How the value of this property is written; `none` of a number that no property has. */
export function valueKindOf(id: number): number {
  return kindOfProperty[id] ?? valueKinds.none;
}
