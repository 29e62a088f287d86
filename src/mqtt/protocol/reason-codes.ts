// Reason codes of MQTT 5 [2.4], and what a CONNACK of older versions says in their place. Pure; used by whoever answers
// a packet or closes a connection.

/** All codes of the specification's table, by its names. */
export const reasonCodes = {
  success: 0x00,
  normalDisconnection: 0x00,
  grantedQos0: 0x00,
  grantedQos1: 0x01,
  grantedQos2: 0x02,
  disconnectWithWillMessage: 0x04,
  noMatchingSubscribers: 0x10,
  noSubscriptionExisted: 0x11,
  continueAuthentication: 0x18,
  reAuthenticate: 0x19,
  unspecifiedError: 0x80,
  malformedPacket: 0x81,
  protocolError: 0x82,
  implementationSpecificError: 0x83,
  unsupportedProtocolVersion: 0x84,
  clientIdentifierNotValid: 0x85,
  badUserNameOrPassword: 0x86,
  notAuthorized: 0x87,
  serverUnavailable: 0x88,
  serverBusy: 0x89,
  banned: 0x8a,
  serverShuttingDown: 0x8b,
  badAuthenticationMethod: 0x8c,
  keepAliveTimeout: 0x8d,
  sessionTakenOver: 0x8e,
  topicFilterInvalid: 0x8f,
  topicNameInvalid: 0x90,
  packetIdentifierInUse: 0x91,
  packetIdentifierNotFound: 0x92,
  receiveMaximumExceeded: 0x93,
  topicAliasInvalid: 0x94,
  packetTooLarge: 0x95,
  messageRateTooHigh: 0x96,
  quotaExceeded: 0x97,
  administrativeAction: 0x98,
  payloadFormatInvalid: 0x99,
  retainNotSupported: 0x9a,
  qosNotSupported: 0x9b,
  useAnotherServer: 0x9c,
  serverMoved: 0x9d,
  sharedSubscriptionsNotSupported: 0x9e,
  connectionRateExceeded: 0x9f,
  maximumConnectTime: 0xa0,
  subscriptionIdentifiersNotSupported: 0xa1,
  wildcardSubscriptionsNotSupported: 0xa2,
} as const;

export type ReasonCode = (typeof reasonCodes)[keyof typeof reasonCodes];

/** Return codes of a CONNACK of MQTT 3.1 and 3.1.1 [3.2.2.3]. */
const returnCodes = {
  accepted: 0,
  unacceptableProtocolVersion: 1,
  identifierRejected: 2,
  serverUnavailable: 3,
  badUserNameOrPassword: 4,
  notAuthorized: 5,
} as const;

/**
 * What a CONNACK of MQTT 3.1 and 3.1.1 says for a code of version 5. Codes without words of their own there are
 * "server unavailable": it is the one that does not blame the client's credentials.
 */
export function returnCodeOf(reasonCode: ReasonCode): number {
  switch (reasonCode) {
    case reasonCodes.success:
      return returnCodes.accepted;
    case reasonCodes.unsupportedProtocolVersion:
      return returnCodes.unacceptableProtocolVersion;
    case reasonCodes.clientIdentifierNotValid:
      return returnCodes.identifierRejected;
    case reasonCodes.badUserNameOrPassword:
      return returnCodes.badUserNameOrPassword;
    case reasonCodes.notAuthorized:
    case reasonCodes.banned:
    case reasonCodes.badAuthenticationMethod:
      return returnCodes.notAuthorized;
    default:
      return returnCodes.serverUnavailable;
  }
}
