// Whom a topic's messages go to, remembered from one message to the next: the connected clients with a filter for it, each
// once, and what each was granted. Used by subscribers.ts; forwarding.ts hands the messages over.
import type { AedesPublishPacket, Client } from 'aedes';
import { textHeapBytes } from '../../base/memory/heap-bytes.ts';
import type { Grant } from '../access.ts';
import type { Topic } from '../topics.ts';

/** Delivers a message by way of the broker; `done` is called when the subscriber has it. */
export type Deliver = (packet: AedesPublishPacket, done: () => void) => void;

/** A subscriber of a topic. */
export interface TopicSubscriber {
  /** Undefined for a function of the broker itself. */
  readonly client: Client | undefined;
  readonly deliver: Deliver;
  /** What it may get, as it was decided last; undefined until its first message. */
  grant: Grant | undefined;
}

export interface Recipients {
  readonly topic: Topic;
  readonly all: readonly TopicSubscriber[];
}

/** Estimated memory of recipients with their grants, in bytes. */
export function weightOfRecipients({ all }: Recipients, topic: string): number {
  return 400 + 2 * textHeapBytes(topic) + all.length * recipientBytes;
}

const recipientBytes = 160;

/** aedes's client with the function that its types do not declare. */
interface AedesClient extends Client {
  deliverQoS: Deliver;
}

/** What `clientOf` asks a function with. */
const question = Object.freeze({
  ...{ cmd: 'publish' as const, qos: 0 as const, dup: false, retain: false },
  ...{ topic: 'whose', payload: Buffer.from('whose'), brokerId: 'whose', brokerCounter: 1 },
});

let answer: Client | undefined;

/** Has the functions that aedes makes for the client's filters tell `clientOf` whose they are. */
export function tellsClient(client: Client): void {
  const connection = client as AedesClient;
  const { deliverQoS } = connection;
  connection.deliverQoS = (packet, done) => {
    if (packet.payload === question.payload) answer = client;
    else deliverQoS(packet, done);
  };
}

/** Whose filter the function delivers for: aedes hands the broker the function alone. */
export function clientOf(deliver: Deliver): Client | undefined {
  answer = undefined;
  deliver(question, () => {});
  return answer;
}
