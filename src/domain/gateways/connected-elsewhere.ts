// Asks other servers which gateways are connected to them. One question at a time: ids that are asked for meanwhile go into the next, so
// that many requests at once cost about what one costs.
import { limits } from '../../config/limits.ts';
import type { Asks } from '../ports/questions.ts';
import type { GatewayId } from './gateway.ts';

type Connected = ReadonlySet<GatewayId>;

interface Waiting {
  readonly ids: readonly GatewayId[];
  readonly resolve: (connected: Connected) => void;
  readonly reject: (error: unknown) => void;
}

export class ConnectedElsewhere {
  readonly #others: Pick<Asks, 'ask'>;
  /** Bounded by the requests in progress. */
  #waiting: Waiting[] = [];
  #asking: Promise<void> | undefined;

  constructor(others: Pick<Asks, 'ask'>) {
    this.#others = others;
  }

  /** Those among these, and maybe more, that are connected to another server. @throws Refusal `storage` where none can be asked. */
  among(ids: readonly GatewayId[]): Promise<Connected> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ids, resolve, reject });
      this.#asking ??= this.#askAll();
    });
  }

  async #askAll(): Promise<void> {
    // What is asked for in this turn goes into the same question.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const asked = new Set<GatewayId>();
      const batch: Waiting[] = [];
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        if (batch.length > 0 && asked.size + next.ids.length > limits.gatewaysAskedAtOnce) break;
        for (const id of next.ids) asked.add(id);
        batch.push(next);
        this.#waiting.shift();
      }
      await this.#ask([...asked], batch);
    }
    this.#asking = undefined;
  }

  async #ask(gateways: readonly GatewayId[], batch: readonly Waiting[]): Promise<void> {
    try {
      const { given } = await this.#others.ask('gateways-connected', { gateways });
      const connected = new Set(given.flatMap(({ answer }) => answer.gateways));
      for (const { resolve } of batch) resolve(connected);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
