// Asks other servers which gateways are connected to them. One question at a time: ids that are asked for meanwhile go into the next, so
// that many requests at once cost about what one costs.
import { limits } from '../../config/limits.ts';
import type { Asks } from '../ports/questions.ts';
import type { GatewayId } from './gateway.ts';

/** Gateways that are connected to some server; `isSure`: whether all servers have answered. */
export interface Connected {
  readonly ids: ReadonlySet<GatewayId>;
  readonly isSure: boolean;
}

interface Waiting {
  readonly ids: readonly GatewayId[];
  readonly resolve: (connected: Connected) => void;
}

export class ConnectedElsewhere {
  readonly #others: Pick<Asks, 'ask'>;
  /** Bounded by the requests in progress. */
  #waiting: Waiting[] = [];
  #asking: Promise<void> | undefined;

  constructor(others: Pick<Asks, 'ask'>) {
    this.#others = others;
  }

  /** Those among these, and maybe more, that are connected to another server; none where none can be asked. */
  among(ids: readonly GatewayId[]): Promise<Connected> {
    return new Promise((resolve) => {
      this.#waiting.push({ ids, resolve });
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
    const connected = await this.#others.ask('gateways-connected', { gateways }).then(
      ({ given, silent }) => ({
        ids: new Set(given.flatMap(({ answer }) => answer.gateways)),
        isSure: silent.length === 0,
      }),
      // Such as where the database takes no writes: reads go on.
      () => ({ ids: new Set<GatewayId>(), isSure: false }),
    );
    for (const { resolve } of batch) resolve(connected);
  }
}
