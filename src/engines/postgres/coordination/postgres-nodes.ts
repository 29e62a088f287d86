// The servers on the database, as rows of `node`. This one tells of itself with its signs of life (membership.ts).
import type { NodeFigures, NodeRegister, NodeReport } from '../../../domain/ports/nodes.ts';
import type { PostgresDatabase } from '../database/postgres-database.ts';
import type { Membership } from './membership.ts';
import { listNodes } from './nodes-report.ts';

export class PostgresNodes implements NodeRegister {
  readonly isShared = true;
  readonly #database: PostgresDatabase;
  readonly #membership: Pick<Membership, 'id' | 'figures'>;

  constructor(parts: {
    readonly database: PostgresDatabase;
    readonly membership: Pick<Membership, 'id' | 'figures'>;
  }) {
    this.#database = parts.database;
    this.#membership = parts.membership;
  }

  tell(figures: () => NodeFigures): void {
    this.#membership.figures = figures;
  }

  /** @throws Refusal `storage` */
  list(): Promise<readonly NodeReport[]> {
    return listNodes(this.#database, { own: this.#membership.id });
  }
}
