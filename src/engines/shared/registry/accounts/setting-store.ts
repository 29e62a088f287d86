// Settings that admins choose while the service runs: a text under each name.
import type { SettingStore } from '../../../../domain/settings/setting-store.ts';
import type { Registry } from '../registry.ts';

export class SqlSettingStore implements SettingStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async find(name: string): Promise<string | undefined> {
    const row = await this.#registry.read
      .selectFrom('setting')
      .select('value')
      .where('name', '=', name)
      .executeTakeFirst();
    return row?.value;
  }

  async save(name: string, value: string): Promise<void> {
    const insert = this.#registry.read.insertInto('setting').values({ name, value });
    await this.#registry.write([insert.onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))]);
  }
}
