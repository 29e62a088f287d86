// The servers on the data, for admins: what the engine knows of them, and what each has told of itself.
import type { Permissions } from '../permissions/permission.ts';
import type { NodeRegister, NodeReport } from '../ports/nodes.ts';
import type { Actor } from '../users/user.ts';

export class Nodes {
  readonly #permissions: Permissions;
  readonly #register: Pick<NodeRegister, 'isShared' | 'list'>;

  constructor(parts: {
    readonly permissions: Permissions;
    readonly register: Pick<NodeRegister, 'isShared' | 'list'>;
  }) {
    this.#permissions = parts.permissions;
    this.#register = parts.register;
  }

  /** Whether there may be several, and those that there are. @throws Refusal `unauthenticated`, `forbidden`, `storage`. */
  async list(actor: Actor): Promise<{ readonly isShared: boolean; readonly nodes: readonly NodeReport[] }> {
    this.#permissions.requireNodes(actor);
    return { isShared: this.#register.isShared, nodes: await this.#register.list() };
  }
}
