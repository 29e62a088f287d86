// The table of MQTT 5: what a row is, and how it is run. A row is a sequence of packets on some connections and what must come of it, under
// the numbers of the normative statements that it holds. Rows meet a server at its door alone, so they can be held
// against any broker (topics of `users/owner/` pass between the connections of that user everywhere).
//
// No suite of conformance tests of MQTT brokers is on the registries of npm and PyPI (looked up in November 2026): hence
// this table. What of the specification's statements it leaves out, and why, stands in left-out.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Doors, Way } from '../../support/mqtt/letter-connection.ts';
import { type ConnectOptions, PacketClient } from '../../support/mqtt/packet-client.ts';

/** A server with what rows need of it besides its ports. */
export interface Door extends Doors {
  /** Resolves when all that was accepted has been delivered. */
  readonly settle: () => Promise<void>;
  /** Lets so many seconds pass. */
  readonly pass: (seconds: number) => Promise<void>;
}

export interface ClauseRow {
  /** `3.1.2-4` for [MQTT-3.1.2-4]; a section of the specification where it gives no number. */
  readonly clauses: readonly string[];
  readonly what: string;
  readonly run: (scene: Scene) => Promise<void>;
  /** Where the machine's time must pass, or much is done, one way is enough. */
  readonly isOnceEnough?: boolean;
}

export const ways: readonly Way[] = ['in one piece', 'byte by byte', 'over WebSocket'];

let scenes = 0;

/** The connections of one row, with topics and client ids that no other row has. */
export class Scene {
  readonly door: Door;
  readonly way: Way;
  readonly #number = ++scenes;
  readonly #clients: PacketClient[] = [];

  constructor(door: Door, way: Way) {
    this.door = door;
    this.way = way;
  }

  /** A topic of this row alone. */
  topic(name = 't'): string {
    return `users/owner/row${this.#number}/${name}`;
  }

  id(name = 'client'): string {
    return `row${this.#number}-${name}`;
  }

  /** A connection that has said nothing yet. */
  async open(version: 3 | 4 | 5 = 5): Promise<PacketClient> {
    const client = await PacketClient.open(this.door, { way: this.way, version });
    this.#clients.push(client);
    return client;
  }

  /** Signs in as the client of this name; the answer must be an acceptance. */
  async connect(name: string, options: ConnectOptions = {}): Promise<PacketClient> {
    const client = await this.open(options.version);
    const { reasonCode, returnCode } = await client.signIn({ clientId: this.id(name), ...options });
    assert.equal(reasonCode ?? returnCode, 0);
    return client;
  }

  /** A client that hears all of this row from now on. */
  async listener(options: ConnectOptions = {}): Promise<PacketClient> {
    const client = await this.connect(`listener-${this.#clients.length}`, options);
    await client.subscribe(this.topic('#'));
    return client;
  }

  /** All that was delivered to the client since it was last asked, once everything has been. */
  async heard(client: PacketClient) {
    await this.door.settle();
    return client.deliveries();
  }

  /** Ends all that is open still. */
  async end(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.cut()));
  }
}

/** A test for each row: each way the bytes can come. */
export function testRows(rows: readonly ClauseRow[], door: () => Door): void {
  for (const { clauses, what, run, isOnceEnough = false } of rows) {
    test(`[${clauses.join(', ')}] ${what}`, async () => {
      for (const way of isOnceEnough ? ways.slice(0, 1) : ways) {
        const scene = new Scene(door(), way);
        try {
          await run(scene);
        } finally {
          await scene.end();
        }
      }
    });
  }
}
