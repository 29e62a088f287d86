// What MQTT 5 asks of the properties of a packet: which ones, how often, of what values [2.2.2, 3.x.2.y]. Used by
// packet-faults.ts.
import { limits } from '../../config/limits.ts';
import { malformed, type PacketCursor, type PacketFault, protocolError } from './packet-cursor.ts';
import { propertyIds, valueKindOf, valueKinds } from './packet-types.ts';
import { reasonCodes } from './reason-codes.ts';

/** A set of properties by number, as bits: those below 32, and the others. */
export interface PropertySet {
  readonly low: number;
  readonly high: number;
}

function setOf(...names: readonly (keyof typeof propertyIds)[]): PropertySet {
  let [low, high] = [0, 0];
  for (const name of names) {
    const id = propertyIds[name];
    if (id < 32) low |= 1 << id;
    else high |= 1 << (id - 32);
  }
  return { low, high };
}

/** The properties that each packet of a client may have [table 2-4]. */
export const allowedProperties = {
  connect: setOf(
    ...(['sessionExpiryInterval', 'authenticationMethod', 'authenticationData', 'requestProblemInformation'] as const),
    ...(['requestResponseInformation', 'receiveMaximum', 'topicAliasMaximum', 'userProperty'] as const),
    'maximumPacketSize',
  ),
  will: setOf(
    ...(['payloadFormatIndicator', 'messageExpiryInterval', 'contentType', 'responseTopic'] as const),
    ...(['correlationData', 'willDelayInterval', 'userProperty'] as const),
  ),
  publish: setOf(
    ...(['payloadFormatIndicator', 'messageExpiryInterval', 'contentType', 'responseTopic'] as const),
    ...(['correlationData', 'topicAlias', 'userProperty'] as const),
  ),
  acknowledgement: setOf('reasonString', 'userProperty'),
  subscribe: setOf('subscriptionIdentifier', 'userProperty'),
  unsubscribe: setOf('userProperty'),
  disconnect: setOf('sessionExpiryInterval', 'reasonString', 'userProperty', 'serverReference'),
  auth: setOf('authenticationMethod', 'authenticationData', 'reasonString', 'userProperty'),
} as const;

/** Reads the properties at the cursor, which is behind them then, and remembers which there were. */
export function propertiesFault(cursor: PacketCursor, allowed: PropertySet): PacketFault | undefined {
  cursor.seenLow = 0;
  cursor.seenHigh = 0;
  const fault = cursor.variable('length of the properties');
  if (fault !== undefined) return fault;
  const packetEnd = cursor.end;
  const end = cursor.at + cursor.value;
  if (end > packetEnd) return cursor.endsWithin('properties');
  if (cursor.value > limits.propertiesBytesMax) return tooMany(cursor.value);
  cursor.end = end;
  while (cursor.at < end) {
    const found = propertyFault(cursor, allowed);
    if (found !== undefined) return found;
  }
  cursor.end = packetEnd;
  return undefined;
}

/** Nothing in the specification bounds them but the size of the packet [4.13.2: 0x97]. */
function tooMany(bytes: number): PacketFault {
  const detail = `${bytes} bytes of properties are more than ${limits.propertiesBytesMax}`;
  return { reasonCode: reasonCodes.quotaExceeded, clause: '2.2.2', detail };
}

function propertyFault(cursor: PacketCursor, allowed: PropertySet): PacketFault | undefined {
  const { at } = cursor;
  const fault = cursor.variable('number of a property');
  if (fault !== undefined) return fault;
  const id = cursor.value;
  const bit = 1 << (id & 31);
  const isLow = id < 32;
  if (valueKindOf(id) === valueKinds.none) return malformed('2.2.2.2', `there is no property ${id}`);
  if (((isLow ? allowed.low : allowed.high) & bit) === 0) return notAllowed(id, allowed);
  if (((isLow ? cursor.seenLow : cursor.seenHigh) & bit) !== 0 && id !== propertyIds.userProperty)
    return protocolError('2.2.2.2', `property ${id} is there twice, at byte ${at}`);
  if (isLow) cursor.seenLow |= bit;
  else cursor.seenHigh |= bit;
  return valueFault(cursor, id);
}

function notAllowed(id: number, allowed: PropertySet): PacketFault {
  return id === propertyIds.subscriptionIdentifier && allowed === allowedProperties.publish
    ? protocolError('MQTT-3.3.4-6', 'a client publishes with a subscription identifier')
    : malformed('2.2.2.2', `property ${id} is none of this packet`);
}

function valueFault(cursor: PacketCursor, id: number): PacketFault | undefined {
  switch (valueKindOf(id)) {
    case valueKinds.byte:
      return cursor.byte('value of a property') ?? numberFault(id, cursor.value);
    case valueKinds.twoBytes:
      return cursor.twoBytes('value of a property') ?? numberFault(id, cursor.value);
    case valueKinds.fourBytes:
      return cursor.fourBytes('value of a property') ?? numberFault(id, cursor.value);
    case valueKinds.variable:
      return cursor.variable('value of a property') ?? numberFault(id, cursor.value);
    case valueKinds.binary:
      return cursor.binary('value of a property');
    case valueKinds.pair:
      // [MQTT-1.5.7-1]
      return cursor.text('name of a user property') ?? cursor.text('value of a user property');
    default:
      return id === propertyIds.responseTopic ? responseTopicFault(cursor) : cursor.text('value of a property');
  }
}

function responseTopicFault(cursor: PacketCursor): PacketFault | undefined {
  const fault = cursor.topicName('response topic', 'MQTT-3.3.2-14');
  if (fault !== undefined || cursor.fieldEnd > cursor.fieldStart) return fault;
  return malformed('MQTT-4.7.3-1', 'the response topic is empty');
}

/** Values of numbers that the section of their property excludes. */
function numberFault(id: number, value: number): PacketFault | undefined {
  switch (id) {
    case propertyIds.payloadFormatIndicator:
      return value > 1 ? protocolError('3.3.2.3.2', `the payload format is ${value}, not 0 or 1`) : undefined;
    case propertyIds.requestResponseInformation:
      return value > 1 ? protocolError('3.1.2.11.6', `Request Response Information is ${value}`) : undefined;
    case propertyIds.requestProblemInformation:
      return value > 1 ? protocolError('3.1.2.11.7', `Request Problem Information is ${value}`) : undefined;
    case propertyIds.receiveMaximum:
      return value === 0 ? protocolError('3.1.2.11.3', 'Receive Maximum is 0') : undefined;
    case propertyIds.maximumPacketSize:
      return value === 0 ? protocolError('3.1.2.11.4', 'Maximum Packet Size is 0') : undefined;
    case propertyIds.subscriptionIdentifier:
      return value === 0 ? protocolError('3.8.2.1.2', 'the subscription identifier is 0') : undefined;
    case propertyIds.topicAlias:
      return value === 0
        ? { reasonCode: reasonCodes.topicAliasInvalid, clause: 'MQTT-3.3.2-8', detail: 'the topic alias is 0' }
        : undefined;
    default:
      return undefined;
  }
}
