// Secrets that the service generates and stores with its data, such as the key that signs tokens. A rotated secret has
// a second row `<name>-former`: its end of validity as 8 bytes, then the former secret.
import type { RotatedSecret } from '../../../base/rotated-secret.ts';
import type { SecretStore } from '../../../domain/settings/secret-store.ts';
import type { Registry } from './registry.ts';

const timeBytes = 8;

export class SqlSecretStore implements SecretStore {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The secret of this name; `make` generates it where there is none. */
  async getOrCreate(name: string, make: () => Uint8Array): Promise<Uint8Array> {
    const found = await this.#find(name);
    if (found !== undefined) return found;
    const insert = this.#registry.read.insertInto('secret').values({ name, value: make() });
    await this.#registry.write([insert.onConflict((conflict) => conflict.column('name').doNothing())]);
    return (await this.#find(name)) as Uint8Array;
  }

  /** The secret of this name, and the former one. @throws Error where there is none. */
  async getRotated(name: string): Promise<RotatedSecret> {
    const rows = await this.#registry.read
      .selectFrom('secret')
      .selectAll()
      .where('name', 'in', [name, formerOf(name)])
      .execute();
    const secretOf = (wanted: string) => rows.find((row) => row.name === wanted)?.value;
    const present = secretOf(name);
    if (present === undefined) throw new Error(`There is no secret ${name} in the store.`);
    const kept = secretOf(formerOf(name));
    return { present, former: kept === undefined ? undefined : parseFormer(kept) };
  }

  /**
   * Replaces the secret in one commit. The replaced one stays valid until the given time; an earlier former one is
   * deleted.
   */
  async rotate(name: string, value: Uint8Array, formerGoodUntilMs: number): Promise<void> {
    const present = await this.#find(name);
    const rows = [{ name, value }];
    if (present !== undefined) rows.push({ name: formerOf(name), value: formerRow(present, formerGoodUntilMs) });
    await this.#registry.write(
      rows.map((row) =>
        this.#registry.read
          .insertInto('secret')
          .values(row)
          .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: row.value })),
      ),
    );
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

function formerOf(name: string): string {
  return `${name}-former`;
}

function formerRow(value: Uint8Array, goodUntilMs: number): Uint8Array {
  const row = Buffer.alloc(timeBytes + value.length);
  row.writeDoubleBE(goodUntilMs);
  row.set(value, timeBytes);
  return row;
}

function parseFormer(row: Uint8Array): NonNullable<RotatedSecret['former']> {
  const goodUntilMs = new DataView(row.buffer, row.byteOffset, row.byteLength).getFloat64(0);
  return { value: row.slice(timeBytes), goodUntilMs };
}
