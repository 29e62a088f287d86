// The figures of the servers on the data, as this one sees them. Used by metrics.ts.
import { Gauge, type Registry } from 'prom-client';
import { limits } from '../config/limits.ts';
import type { NodeRegister, NodeReport } from '../domain/ports/nodes.ts';

/** While the database does not answer they are left out. */
export function watchNodes(register: Pick<NodeRegister, 'list'>, registers: Registry[]): void {
  const latest = new LatestNodes(register);
  const gauge = (name: string, help: string, figureOf: (own: NodeReport) => number) =>
    new Gauge({
      ...{ name, help, registers },
      async collect() {
        const own = (await latest.list()).find(({ isOwn }) => isOwn);
        if (own === undefined) this.remove();
        else this.set(figureOf(own));
      },
    });
  new Gauge({
    name: 'dundun_nodes',
    help: 'Servers on the data, by state: alive, or silent for so long that others may take their work over.',
    labelNames: ['state'],
    registers,
    async collect() {
      this.reset();
      const nodes = await latest.list();
      if (nodes.length === 0) return;
      const alive = nodes.filter(({ isAlive }) => isAlive).length;
      this.set({ state: 'alive' }, alive);
      this.set({ state: 'silent' }, nodes.length - alive);
    },
  });
  gauge(
    'dundun_node_behind_datapoints',
    'Datapoints that other servers have stored and this one has not read.',
    ({ behindLog }) => behindLog,
  );
  gauge(
    'dundun_node_behind_changes',
    'Changes of other servers, such as of shares, that this one has not applied.',
    ({ behind }) => behind,
  );
  gauge('dundun_node_leases', 'Work of which one server does each part, and that this one holds.', ({ leases }) => {
    return leases.length;
  });
}

/** Asks once for all figures of a scrape, and for scrapes at the same time. */
class LatestNodes {
  readonly #register: Pick<NodeRegister, 'list'>;
  #asked: Promise<readonly NodeReport[]> | undefined;

  constructor(register: Pick<NodeRegister, 'list'>) {
    this.#register = register;
  }

  /** None where the database does not answer in time. */
  list(): Promise<readonly NodeReport[]> {
    this.#asked ??= this.#ask();
    return this.#asked;
  }

  async #ask(): Promise<readonly NodeReport[]> {
    const { promise: late, resolve } = Promise.withResolvers<readonly NodeReport[]>();
    const timer = setTimeout(() => resolve([]), limits.nodeFiguresMsMax);
    try {
      return await Promise.race([this.#register.list().catch(() => []), late]);
    } finally {
      clearTimeout(timer);
      this.#asked = undefined;
    }
  }
}
