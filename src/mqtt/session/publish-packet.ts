// A PUBLISH as it was received, and as it is kept. Read from the bytes of a whole packet that has no fault.
import type { Qos } from '../protocol/packet-types.ts';
import type { PublishFrame } from '../protocol/publish-frame.ts';

/** What version 5 says of a message beside its topic and payload, and its receivers are told. */
export interface MessageProperties {
  /** Properties that receivers get as they were sent: their bytes, without the length before them. */
  readonly properties?: Buffer | undefined;
  /** When it may be delivered no more, in milliseconds since 1970 UTC. */
  readonly expiresMs?: number | undefined;
}

export interface PublishPacket extends MessageProperties {
  readonly cmd: 'publish';
  /** Of version 5, empty where `topicAlias` stands for it. */
  topic: string;
  readonly payload: Buffer;
  readonly qos: Qos;
  readonly retain: boolean;
  readonly dup: boolean;
  /** Undefined with QoS 0. */
  readonly messageId?: number;
}

/** The packet that the frame has looked at. Its payload is a part of the buffer that it was received in. */
export function publishOf(frame: PublishFrame, nowMs: () => number): PublishPacket {
  const { bytes, qos, packetId, expiryS } = frame;
  return {
    cmd: 'publish',
    topic: bytes.toString('utf8', frame.topicStart, frame.topicEnd),
    payload: bytes.subarray(frame.payloadStart, frame.end),
    qos: qos as Qos,
    retain: frame.isRetain,
    dup: frame.isDup,
    ...(qos > 0 ? { messageId: packetId } : {}),
    ...propertiesOf(frame),
    ...(expiryS < 0 ? {} : { expiresMs: nowMs() + expiryS * 1_000 }),
  };
}

function propertiesOf(frame: PublishFrame): MessageProperties {
  const properties = frame.forwardable();
  return properties.length === 0 ? {} : { properties };
}
