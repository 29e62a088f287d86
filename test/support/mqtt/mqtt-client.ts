// MQTT clients for tests with mqtt.js, over TCP or WebSocket. Tests that control single packets use mqtt-raw.ts.
import assert from 'node:assert/strict';
import { connect, type IClientOptions, type IClientPublishOptions, type MqttClient } from 'mqtt';
import { type As, password } from '../people.ts';
import type { TestServer } from '../test-server.ts';

export interface Received {
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1 | 2;
  readonly retain: boolean;
  readonly dup: boolean;
}

export interface ClientOptions {
  readonly clientId?: string;
  readonly clean?: boolean;
  readonly over?: 'tcp' | 'ws';
  readonly will?: NonNullable<IClientOptions['will']>;
  /** In place of the password that everybody has; an empty username may go with an API key. */
  readonly password?: string;
}

let clients = 0;

export class Client {
  /** Messages in order of arrival, since they were last taken. */
  readonly received: Received[] = [];
  readonly closed: Promise<void>;
  sessionPresent = false;
  readonly #mqtt: MqttClient;
  readonly #waiters = new Set<() => void>();

  private constructor(mqtt: MqttClient) {
    this.#mqtt = mqtt;
    this.closed = new Promise((resolve) => mqtt.once('close', () => resolve()));
    mqtt.on('message', (topic, payload, { qos, retain, dup }) => {
      this.received.push({ topic, payload: payload.toString(), qos, retain, dup });
      for (const look of this.#waiters) look();
    });
  }

  /** Signs in; rejects with CONNACK's `code` where that is refused. */
  static async connect(server: TestServer, as: As, options: ClientOptions = {}): Promise<Client> {
    const { clientId = `client-${++clients}`, clean = true, over = 'tcp', will, password: secret = password } = options;
    const { mqtt: port, http } = server.running.ports;
    const mqtt = connect(over === 'tcp' ? `mqtt://127.0.0.1:${port}` : `ws://127.0.0.1:${http}/mqtt`, {
      ...{ clientId, clean, keepalive: 60, reconnectPeriod: 0, connectTimeout: 20_000, protocolVersion: 4 },
      ...(as === 'guest' ? {} : { username: as, password: secret }),
      ...(will === undefined ? {} : { will }),
    });
    const client = new Client(mqtt);
    await new Promise<void>((resolve, reject) => {
      mqtt.once('connect', ({ sessionPresent }) => {
        client.sessionPresent = sessionPresent;
        resolve();
      });
      mqtt.once('error', reject);
      mqtt.once('close', () => reject(new Error('The connection was closed before CONNACK.')));
    });
    mqtt.on('error', () => {});
    return client;
  }

  /** Resolves when the message is acknowledged. */
  async publish(topic: string, payload: unknown, options: IClientPublishOptions = {}): Promise<void> {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload);
    await this.#mqtt.publishAsync(topic, bytes, options);
  }

  /** Subscribes and returns what was granted; every filter must be. */
  async subscribe(filters: string | readonly string[], qos: 0 | 1 | 2 = 0): Promise<void> {
    const granted = await this.#mqtt.subscribeAsync([filters].flat() as string[], { qos });
    assert.deepEqual(new Set(granted.map((grant) => grant.qos)), new Set([qos]));
  }

  async unsubscribe(filters: string | readonly string[]): Promise<void> {
    await this.#mqtt.unsubscribeAsync([filters].flat() as string[]);
  }

  /** Waits for this many messages and takes them. */
  async take(count: number): Promise<Received[]> {
    if (this.received.length < count) {
      await new Promise<void>((resolve) => {
        const look = () => {
          if (this.received.length < count) return;
          this.#waiters.delete(look);
          resolve();
        };
        this.#waiters.add(look);
      });
    }
    return this.received.splice(0, count);
  }

  /** Takes all that has arrived; nothing that was sent before is still on its way when it resolves. */
  async takeAll(): Promise<Received[]> {
    await this.roundTrip();
    return this.received.splice(0);
  }

  /** Resolves when what the server wrote before has arrived. The topic is nobody's, so nothing comes of it. */
  async roundTrip(): Promise<void> {
    await this.publish('nobody/asked', '', { qos: 1 });
  }

  /** Leaves with DISCONNECT. */
  async end(): Promise<void> {
    await this.#mqtt.endAsync();
  }

  /** Breaks the connection without DISCONNECT. */
  async cut(): Promise<void> {
    this.#mqtt.stream.destroy();
    await this.closed;
  }
}

/** What each client has got, once all that was published has been delivered. */
export async function takeAll(server: TestServer, ...clients: readonly Client[]): Promise<Received[][]> {
  await server.running.idle();
  return Promise.all(clients.map((client) => client.takeAll()));
}
