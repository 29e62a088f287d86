// Load on several servers with one database, as devices make it: single values over REST to each of them, and QoS 1 and 2 by
// publishers that come back to any of them. What they are told is entered in a ledger.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { Publisher } from '../mqtt/mqtt-publisher.ts';
import { type Dundun, figuresOf, makeDevice } from '../process.ts';
import { RoundRobin } from '../round-robin.ts';
import { until } from '../until.ts';
import { Ledger } from './ledger.ts';

/** Sensors to which single values go, the next of them to the next server. */
const pushed = ['a', 'b', 'c', 'all', 'all', 'all'];

export class FleetLoad {
  readonly ledger = new Ledger('fleet');
  readonly #fleet: readonly Dundun[];
  readonly #mqtt: RoundRobin;
  readonly #publishers: readonly Publisher[];
  readonly #pushing: readonly Promise<void>[];
  readonly #keeping: readonly Promise<void>[];
  #isOver = false;
  #isFinished = false;
  #mqttClosed: Promise<void> | undefined;

  private constructor(fleet: readonly Dundun[], mqtt: RoundRobin) {
    this.#fleet = fleet;
    this.#mqtt = mqtt;
    const { ledger } = this;
    this.#publishers = [1, 2].map(
      (qos) => new Publisher({ ledger, clientId: `p${qos}`, window: 20, qos: qos as 1 | 2, sensor: `qos${qos}` }),
    );
    this.#pushing = pushed.map((sensor, n) => this.#push(n, sensor));
    this.#keeping = this.#publishers.map((publisher) => this.#keep(publisher));
  }

  /** @param fleet the servers; one that is started anew takes the place of the one before. */
  static async start(fleet: readonly Dundun[]): Promise<FleetLoad> {
    await makeDevice(fleet[0] as Dundun, 'fleet', [...new Set(pushed), 'qos1', 'qos2']);
    return new FleetLoad(fleet, await RoundRobin.open(() => fleet.flatMap(({ ports }) => ports.mqtt ?? [])));
  }

  /** Sends nothing new, and resolves when all that was sent has its answer. */
  async finish(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#pushing);
    await Promise.all(this.#publishers.map((publisher) => publisher.finish()));
    this.end();
    await Promise.all(this.#keeping);
  }

  /** Sends nothing new, and waits for nothing. */
  end(): void {
    this.#isOver = true;
    this.#isFinished = true;
    for (const publisher of this.#publishers) publisher.end();
    // Or the process of the test would not end.
    this.#mqttClosed ??= this.#mqtt.close();
  }

  /** Holds what each server has against what clients were told, and waits until rules have seen all of it. */
  async verify(): Promise<void> {
    for (const dundun of this.#fleet) await this.ledger.verify(dundun);
    await until(
      async () => {
        const seen = await Promise.all(this.#fleet.map((dundun) => figuresOf(dundun)));
        return seen.every((figures) => /^dundun_rules_datapoints_behind 0$/m.test(figures));
      },
      { msMax: 180_000, everyMs: 50 },
    );
  }

  /** For people. */
  get counts(): string {
    const { ledger } = this;
    const [stored, refused, open] = (['stored', 'refused', 'open'] as const).map((told) => ledger.count(told));
    return `${stored} pushes were acknowledged, ${refused} refused, ${open} not answered`;
  }

  async #keep(publisher: Publisher): Promise<void> {
    while (!this.#isFinished) {
      if (publisher.isClosed) await publisher.tryToConnect({ mqtt: this.#mqtt.port }).catch(() => {});
      await pause(100);
    }
  }

  async #push(n: number, sensor: string): Promise<void> {
    while (!this.#isOver) await this.#pushOne(this.#fleet[n % this.#fleet.length] as Dundun, sensor);
  }

  /** Enters what the answer says; without one, or where the service does not know, either may be. */
  async #pushOne({ url }: Dundun, sensor: string): Promise<void> {
    const sent = this.ledger.enter(sensor);
    try {
      const answer = await post(`${url}/api/v2/devices/${this.ledger.device}/sensors/${sensor}/value`, sent.first);
      const text = await answer.text();
      if (answer.status === 204) sent.told = 'stored';
      else if (answer.status === 503 && !/not known yet/.test(text)) sent.told = 'refused';
      else assert.equal(answer.status, 503, text);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    // As a device does that is told to come again.
    if (sent.told !== 'stored') await pause(50);
  }
}

/** Resolves when all servers take work. @returns milliseconds that took. @throws where one of them has ended */
export async function untilAllWork(fleet: readonly Dundun[]): Promise<number> {
  const startMs = performance.now();
  for (const dundun of fleet) {
    await until(
      async () => {
        const { exitCode, signalCode } = dundun.child;
        assert.deepEqual([exitCode, signalCode], [null, null], `a server ended: ${dundun.stderr.slice(-4_000)}`);
        const ready = await fetch(`${dundun.url}/health/ready`).catch(() => undefined);
        return ready?.status === 200;
      },
      { everyMs: 20, otherwise: () => dundun.stderr.slice(-4_000) },
    );
  }
  return Math.round(performance.now() - startMs);
}

/** Pushes to the sensor that rules watch (firings.ts); which of these are stored shows later. */
export async function pushRuled({ url }: Dundun, device: string, value: number): Promise<void> {
  await post(`${url}/api/v2/devices/${device}/sensors/ruled/value`, value).then(
    (answer) => answer.arrayBuffer(),
    () => undefined,
  );
}

function post(url: string, value: number): Promise<Response> {
  return fetch(url, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ value }),
  });
}
