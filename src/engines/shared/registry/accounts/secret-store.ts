// Secrets that the service generates and stores with its data, such as the key that signs tokens. A rotated secret has
// a second row `<name>-former`: its end of validity as 8 bytes, then the former secret.
import { sql } from 'kysely';
import type { RotatedSecret } from '../../../../base/rotated-secret.ts';
import type { SecretStore } from '../../../../domain/settings/secret-store.ts';
import type { Registry } from '../registry.ts';

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
    for (let isDone = false; !isDone; ) isDone = await this.#replace({ name, value, formerGoodUntilMs });
  }

  /**
   * Returns false and changes nothing where another process has replaced the secret meanwhile: its secret would be lost
   * while it is still valid.
   */
  async #replace(next: {
    readonly name: string;
    readonly value: Uint8Array;
    readonly formerGoodUntilMs: number;
  }): Promise<boolean> {
    const { name, value, formerGoodUntilMs } = next;
    const db = this.#registry.read;
    const present = await this.#find(name);
    if (present === undefined) {
      const insert = db.insertInto('secret').values({ name, value });
      const [inserted] = await this.#registry.write([insert.onConflict((conflict) => conflict.doNothing())]);
      return inserted === 1;
    }
    const former = { name: formerOf(name), value: formerRow(present, formerGoodUntilMs) };
    const row = db
      .selectFrom('secret')
      .select([sql.val(former.name).as('name'), sql.val(former.value).as('value')])
      .where('name', '=', name)
      .where('value', '=', present);
    const keep = db.insertInto('secret').columns(['name', 'value']).expression(row);
    const [, replaced] = await this.#registry.write([
      keep.onConflict((conflict) => conflict.column('name').doUpdateSet({ value: former.value })),
      db.updateTable('secret').set({ value }).where('name', '=', name).where('value', '=', present),
    ]);
    return replaced === 1;
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
