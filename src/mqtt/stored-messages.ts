// Messages that come from the store (retained, or queued while the client was away) are checked at delivery like any
// other. That check needs the device in memory, so it is loaded before the message goes on.
import { Readable } from 'node:stream';

/** Where stored messages come out of aedes's persistence interface, and where their delivery is noted. */
export interface StoredMessages {
  outgoingUpdate(
    client: { readonly id: string },
    packet: { readonly cmd: string; readonly qos?: number },
  ): Promise<void>;
  outgoingStream(client: { readonly id: string }): Readable;
  createRetainedStreamCombi(filters: readonly string[]): Readable;
}

/** Makes the store prepare each message's topic before it hands the message out. */
export function prepareStored(stored: StoredMessages, prepare: (topic: string) => Promise<void>): void {
  const outgoing = stored.outgoingStream.bind(stored);
  const update = stored.outgoingUpdate.bind(stored);
  const retained = stored.createRetainedStreamCombi.bind(stored);
  stored.outgoingStream = (client) => Readable.from(prepared(outgoing(client), prepare));
  // What goes out with QoS 0 was not kept, whatever it was published with.
  stored.outgoingUpdate = async (client, packet) => {
    if (packet.cmd !== 'publish' || packet.qos !== 0) await update(client, packet);
  };
  stored.createRetainedStreamCombi = (filters) => Readable.from(prepared(retained(filters), prepare));
}

async function* prepared(messages: Readable, prepare: (topic: string) => Promise<void>): AsyncGenerator<unknown> {
  for await (const message of messages as AsyncIterable<{ readonly topic?: string }>) {
    // A PUBREL on its way has no topic.
    if (message.topic !== undefined) await prepare(message.topic);
    yield message;
  }
}
