// Stores on SQLite that say each of their statements for PostgreSQL too.
import {
  type CompiledQuery,
  Kysely,
  type OperationNode,
  PostgresQueryCompiler,
  type QueryCompiler,
  type QueryId,
  type RawBuilder,
  type RawNode,
  type RootOperationNode,
  SqliteQueryCompiler,
} from 'kysely';
import type { Clock } from '../../../src/base/time/clock.ts';
import type { RegistryStores } from '../../../src/domain/ports/registry-stores.ts';
import { NodeSqliteDialect } from '../../../src/engines/embedded/database/dialect.ts';
import { sqliteDialect } from '../../../src/engines/embedded/database/sql-dialect.ts';
import type { EmbeddedEngine } from '../../../src/engines/embedded/embedded-engine.ts';
import { postgresDialect } from '../../../src/engines/postgres/database/sql-dialect.ts';
import { sqlStores } from '../../../src/engines/shared/registry/registry-stores.ts';
import type { Sql, SqlDialect } from '../../../src/engines/shared/registry/sql-dialect.ts';
import type { Tables } from '../../../src/engines/shared/registry/tables.ts';

/** What PostgreSQL says in place of a part of a statement that SQLite says. */
const counterparts = new WeakMap<OperationNode, OperationNode>();

/** @param said gets each statement as PostgreSQL has it. */
export function storesInBoth(engine: EmbeddedEngine, clock: Clock, said: (sql: string) => void): RegistryStores {
  const read = new Kysely<Tables>({ dialect: new BothDialects(engine, said) });
  const search = engine.registry.search.bind(engine.registry);
  const write = engine.registry.write.bind(engine.registry);
  return sqlStores({ dialect: inBoth, read, search, write }, clock);
}

class BothDialects extends NodeSqliteDialect {
  readonly #said: (sql: string) => void;

  constructor(engine: EmbeddedEngine, said: (sql: string) => void) {
    super(engine.reader);
    this.#said = said;
  }

  override createQueryCompiler(): SqliteQueryCompiler {
    return new BothCompilers(this.#said);
  }
}

class BothCompilers extends SqliteQueryCompiler {
  readonly #postgres: QueryCompiler = new CounterpartCompiler();
  readonly #said: (sql: string) => void;

  constructor(said: (sql: string) => void) {
    super();
    this.#said = said;
  }

  override compileQuery(node: RootOperationNode, id: QueryId): CompiledQuery {
    this.#said(this.#postgres.compileQuery(node, id).sql);
    return super.compileQuery(node, id);
  }
}

class CounterpartCompiler extends PostgresQueryCompiler {
  override visitRaw(node: RawNode): void {
    const counterpart = counterparts.get(node);
    if (counterpart === undefined) super.visitRaw(node);
    else this.visitNode(counterpart);
  }
}

const inBoth = bothOf(sqliteDialect, postgresDialect) as SqlDialect;

/** Both dialects in one: what both give is SQLite's, and PostgreSQL's is found by it when the statement is compiled. */
function bothOf(sqlite: unknown, postgres: unknown): unknown {
  if (typeof sqlite === 'function' && typeof postgres === 'function') {
    return (...given: readonly unknown[]) => bothOf(sqlite(...given), postgres(...given));
  }
  if (isSql(sqlite) && isSql(postgres)) return pairOf(sqlite, postgres);
  const entries = Object.entries(sqlite as object);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, bothOf(value, (postgres as Record<string, unknown>)[name])]),
  );
}

function isSql(value: unknown): value is Sql {
  return typeof (value as Sql).toOperationNode === 'function';
}

function pairOf(sqlite: Sql, postgres: Sql): RawBuilder<unknown> {
  return new Proxy(sqlite, {
    get: (target, name) => {
      if (name !== 'toOperationNode') {
        const value = Reflect.get(target, name, target) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      }
      return () => {
        const node = target.toOperationNode();
        counterparts.set(node, postgres.toOperationNode());
        return node;
      };
    },
  });
}
