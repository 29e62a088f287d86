// An MQTT client that publishes without a pause, several messages at a time, and continues in the same session on the
// next server: unacknowledged messages are sent again with DUP under their packet id [MQTT-4.4.0-1].
import type { Packet } from 'mqtt-packet';
import type { Ledger, Sent } from '../crash/ledger.ts';
import { connectMqtt, type MqttConnection } from './mqtt-connection.ts';

export interface PublisherOptions {
  readonly ledger: Ledger;
  readonly sensor: string;
  readonly qos: 1 | 2;
  readonly clientId: string;
  /** Messages under way at once. */
  readonly window: number;
}

interface PendingPublish {
  readonly sent: Sent;
  /** QoS 2: PUBREC came, so PUBREL is what is due. */
  received: boolean;
}

const serverUnavailable = 3;

class ConnectRefused extends Error {
  readonly returnCode: number | undefined;

  constructor(clientId: string, returnCode: number | undefined) {
    super(`${clientId} was refused with ${returnCode}.`);
    this.returnCode = returnCode;
  }
}

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #underWay = new Map<number, PendingPublish>();
  #connection: MqttConnection | undefined;
  #lastId = 0;
  #stopped = false;
  #isClosed = true;
  #onDone: () => void = () => {};

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Messages without an answer. */
  get underWay(): number {
    return this.#underWay.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get closed(): Promise<void> {
    return this.#connection?.closed ?? Promise.resolve();
  }

  /** Connects, sends again what has no answer yet, and goes on with new messages. */
  async connect(ports: { readonly mqtt?: number }): Promise<void> {
    const { clientId, window } = this.#options;
    const { connection, connack } = await connectMqtt(ports.mqtt ?? 0, { clientId, clean: false });
    if (connack.returnCode !== 0) {
      connection.end();
      throw new ConnectRefused(clientId, connack.returnCode);
    }
    this.#connection = connection;
    this.#isClosed = false;
    void connection.closed.then(() => {
      this.#isClosed = connection === this.#connection;
    });
    connection.onPacket = (packet) => this.#take(packet);
    for (const [id, { received }] of this.#underWay) {
      if (received) connection.send({ cmd: 'pubrel', messageId: id });
      else this.#send(id, { dup: true });
    }
    while (this.#underWay.size < window && this.#publish());
    this.#lookWhetherDone();
  }

  /** The same, where the server may not be ready for it yet: false when it said so (CONNACK 3). */
  async tryToConnect(ports: { readonly mqtt?: number }): Promise<boolean> {
    try {
      await this.connect(ports);
      return true;
    } catch (error) {
      if (error instanceof ConnectRefused && error.returnCode === serverUnavailable) return false;
      throw error;
    }
  }

  /** Sends nothing new; resolves when everything sent has its answer. */
  finish(): Promise<void> {
    this.#stopped = true;
    return new Promise((resolve) => {
      this.#onDone = resolve;
      this.#lookWhetherDone();
    });
  }

  end(): void {
    this.#connection?.end();
  }

  #publish(): boolean {
    if (this.#stopped) return false;
    // A number that was free for longest, so that none is used again while the server may remember it.
    do this.#lastId = (this.#lastId % 65_535) + 1;
    while (this.#underWay.has(this.#lastId));
    const { ledger, sensor } = this.#options;
    this.#underWay.set(this.#lastId, { sent: ledger.enter(sensor), received: false });
    return this.#send(this.#lastId, { dup: false });
  }

  #send(messageId: number, { dup }: { readonly dup: boolean }): boolean {
    const { ledger, sensor, qos } = this.#options;
    const topic = `devices/${ledger.device}/sensors/${sensor}/value`;
    const payload = JSON.stringify({ value: this.#underWay.get(messageId)?.sent.first });
    return this.#connection?.send({ cmd: 'publish', topic, payload, qos, dup, retain: false, messageId }) ?? false;
  }

  #take(packet: Packet): void {
    const id = packet.messageId ?? 0;
    const message = this.#underWay.get(id);
    if (message === undefined) return;
    if (packet.cmd === 'pubrec') {
      message.received = true;
      // Acknowledged is acknowledged: the value is stored from here on.
      message.sent.told = 'stored';
      this.#connection?.send({ cmd: 'pubrel', messageId: id });
    } else if (packet.cmd === 'puback' || packet.cmd === 'pubcomp') {
      message.sent.told = 'stored';
      this.#underWay.delete(id);
      this.#publish();
      this.#lookWhetherDone();
    }
  }

  #lookWhetherDone(): void {
    if (this.#stopped && this.#underWay.size === 0) this.#onDone();
  }
}

export async function startPublisher(ports: { readonly mqtt?: number }, options: PublisherOptions): Promise<Publisher> {
  const publisher = new Publisher(options);
  await publisher.connect(ports);
  return publisher;
}
