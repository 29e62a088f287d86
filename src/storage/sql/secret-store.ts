// Secrets the service makes for itself and keeps with its data, such as the key that signs tokens.
import type { Registry } from './registry.ts';

export class SqlSecretStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The secret of that name; made by `make` and kept when there is none. */
  async getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    const found = await this.#find(name);
    if (found !== undefined) return found;
    const insert = this.#registry.read.insertInto('secret').values({ name, value: make() });
    await this.#registry.write([insert.onConflict((conflict) => conflict.column('name').doNothing())]);
    return (await this.#find(name)) as Uint8Array;
  }

  /** Replaces the secret: what was signed with it before is no longer good. */
  async replace(name: string, value: Uint8Array): Promise<void> {
    const insert = this.#registry.read.insertInto('secret').values({ name, value });
    await this.#registry.write([insert.onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))]);
  }

  async #find(name: string): Promise<Uint8Array | undefined> {
    const row = await this.#registry.read
      .selectFrom('secret')
      .select('value')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.value;
  }
}
