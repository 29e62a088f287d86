// Rules under way in a crash test, and a ledger of what they said: a provider that is told of each message, by its id. Every
// stored datapoint must have made every rule of its sensor fire once (I5), though the provider may hear of it twice.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { query } from '../database.ts';
import { call, type Dundun, figuresOf, login, readValues } from '../process.ts';
import { until } from '../until.ts';

const sensor = 'ruled';
const rulesEach = 3;
/** Of one round, so that nobody has more messages than are kept. */
const pushesMax = 40;
const allSentMsMax = 300_000;
/** Of messages that are not sent. */
export const countWaiting = "SELECT count(*) AS n FROM message WHERE state <> 'sent'";

export class Firings {
  readonly #provider: Server;
  /** The message of each id. */
  readonly #told = new Map<string, string>();
  readonly #faults: string[] = [];
  /** Devices whose rules were all made. */
  readonly #devices: string[] = [];
  #address = '';

  readonly #waitingMessages: (server: Dundun) => Promise<number>;

  /** @param waitingMessages how many messages are not sent; asks the folder unless it is said. */
  constructor(waitingMessages = async ({ folder }: Dundun) => Number(query(folder, countWaiting)[0]?.['n'])) {
    this.#waitingMessages = waitingMessages;
    this.#provider = createServer((request, response) => {
      let body = '';
      request.on('data', (bytes) => {
        body += bytes;
      });
      request.on('end', () => {
        const id = String(request.headers['webhook-id']);
        const { message } = (JSON.parse(body) as { data: { message: string } }).data;
        const known = this.#told.get(id) ?? message;
        if (known !== message) this.#faults.push(`${id} stands for ${known} and for ${message}`);
        this.#told.set(id, message);
        response.writeHead(204).end();
      });
    });
    after(() => {
      this.#provider.closeAllConnections();
      this.#provider.close();
    });
  }

  /** Opens the provider, and has the service tell it. */
  async open(server: Dundun): Promise<void> {
    await new Promise<void>((resolve) => this.#provider.listen(0, '127.0.0.1', resolve));
    this.#address = `http://127.0.0.1:${(this.#provider.address() as AddressInfo).port}/`;
    const token = (await login(server)) as string;
    const { id } = (await (await call(server, '/api/v2/users/me', { token })).json()) as { readonly id: string };
    const json = { webhook: [this.#address] };
    assert.ok((await call(server, `/api/v2/users/${id}`, { token, json, method: 'PUT' })).ok);
  }

  /** Makes the rules of one round, for a device that has the sensor. */
  async watch(server: Dundun, device: string): Promise<void> {
    const token = (await login(server)) as string;
    for (let rule = 0; rule < rulesEach; rule++) {
      const condition = { devices: [device], sensors: [sensor], expression: `${sensor}>=0` };
      const action = { usernames: ['admin'], channels: ['webhook'], message: `${device} ${rule} {${sensor}}` };
      const answer = await call(server, '/api/v2/notifications', { token, json: { condition, action } });
      assert.ok(answer.ok, await answer.text());
    }
    this.#devices.push(device);
  }

  /** Pushes values until there are enough, or the server does not answer any more; whether they are stored shows later. */
  async push(server: Dundun, device: string): Promise<void> {
    for (let value = 1; value <= pushesMax; value++) {
      try {
        const path = `/api/v2/devices/${device}/sensors/${sensor}/values`;
        await (await call(server, path, { json: { value } })).arrayBuffer();
      } catch (error) {
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  }

  /** Waits until all is said, and compares it with what is stored. @returns the number of firings. */
  async verify(server: Dundun): Promise<number> {
    await this.#allSent(server);
    const due: string[] = [];
    for (const device of this.#devices) {
      for (const value of await readValues(server, device, sensor)) {
        for (let rule = 0; rule < rulesEach; rule++) due.push(`${device} ${rule} ${value}`);
      }
    }
    assert.deepEqual(this.#faults, []);
    assert.deepEqual([...this.#told.values()].sort(), due.sort(), 'every firing was told of, by one message');
    return due.length;
  }

  async #allSent(server: Dundun): Promise<void> {
    const isDone = async () => {
      // Asked first: what the watcher looks at later makes messages that are not there yet.
      const isSeen = /^dundun_rules_datapoints_behind 0$/m.test(await figuresOf(server));
      return isSeen && (await this.#waitingMessages(server)) === 0;
    };
    await until(isDone, {
      everyMs: 100,
      msMax: allSentMsMax,
      otherwise: async () => `${await this.#waitingMessages(server)} messages wait`,
    });
  }
}
