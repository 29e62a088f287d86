// A query with constant text, compiled once, so that frequent queries cost only what the engine needs. Parameters are
// positional: `parameter(0)` is the first argument.
import { CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { Registry } from './registry.ts';

class ParameterSlot {
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }
}

/** Stands in a `FixedQuery` for the argument with this index. */
export function parameter(index: number): RawBuilder<unknown> {
  return sql`${new ParameterSlot(index)}`;
}

export class FixedQuery<Row = unknown> {
  readonly #registry: Registry;
  readonly #sql: string;
  readonly #slots: readonly number[];

  /** Everything but `parameter(…)` must be constant. */
  constructor(registry: Registry, query: RawBuilder<Row>) {
    this.#registry = registry;
    const compiled = query.compile(registry.read);
    this.#sql = compiled.sql;
    this.#slots = compiled.parameters.map((slot) => (slot as ParameterSlot).index);
  }

  /** For `registry.write`. */
  with(...parameters: readonly unknown[]): { compile(): CompiledQuery<Row> } {
    return { compile: () => this.#compile(parameters) };
  }

  async read(...parameters: readonly unknown[]): Promise<Row[]> {
    return (await this.#registry.read.executeQuery(this.#compile(parameters))).rows;
  }

  #compile(parameters: readonly unknown[]): CompiledQuery<Row> {
    return CompiledQuery.raw(
      this.#sql,
      this.#slots.map((slot) => parameters[slot]),
    ) as CompiledQuery<Row>;
  }
}
