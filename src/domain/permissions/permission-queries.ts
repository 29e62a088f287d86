// Lists the records on which an actor has rights, and these rights (spec 2.7, contract 3). Reads only what the
// permission function needs, in bounded steps, so that memory does not depend on the number of records.
import { type BatchRange, inBatches } from '../../base/in-batches.ts';
import { limits } from '../../config/limits.ts';
import { loopTurns } from '../callers/loop-turns.ts';
import { noScopes, type RecordKind, type ScopeSet, scopesOn } from '../scopes.ts';
import type { Actor } from '../users/user.ts';
import type { Audience, Permissions, ProtectedRecord } from './permission.ts';

/** A record with its key; keys ascend in order of creation. */
export type OrderedRecord = ProtectedRecord & { readonly key: number };

export interface ProtectedRecordStore {
  count(kind: RecordKind, audience: Audience): Promise<number>;
  /** Records after `after` in order of creation. Their shares have only the scopes of the audience's user. */
  list(kind: RecordKind, query: BatchRange & { readonly audience: Audience }): Promise<OrderedRecord[]>;
}

export interface GrantedRecord {
  readonly id: string;
  readonly scopes: ScopeSet;
}

export interface GrantedRecordPage {
  /** Records on which the actor holds a scope, on all pages. */
  readonly total: number;
  readonly holdings: AsyncGenerator<GrantedRecord>;
}

export class PermissionQueries {
  readonly #store: ProtectedRecordStore;
  readonly #permissions: Permissions;

  constructor(parts: { readonly protectedRecordStore: ProtectedRecordStore; readonly permissions: Permissions }) {
    this.#store = parts.protectedRecordStore;
    this.#permissions = parts.permissions;
  }

  /** The records of a kind, or a page of them, on which the actor has any scope. */
  async list(
    actor: Actor,
    kind: RecordKind,
    page: { readonly limit?: number | undefined; readonly offset: number },
  ): Promise<GrantedRecordPage> {
    this.#permissions.requireGuestAllowed(actor);
    const audience = this.#permissions.audienceOf(actor, scopesOn[kind]);
    const total = await this.#store.count(kind, audience);
    return { total, holdings: this.#page(actor, kind, { ...page, audience }) };
  }

  async *#page(
    actor: Actor,
    kind: RecordKind,
    page: { readonly audience: Audience; readonly limit?: number | undefined; readonly offset: number },
  ): AsyncGenerator<GrantedRecord> {
    const { audience } = page;
    const steps = inBatches((step) => this.#store.list(kind, { audience, ...step }), {
      ...page,
      stepRows: limits.recordStepRows,
      turn: () => loopTurns.turn(actor.caller),
    });
    for await (const records of steps) {
      for (const record of records) {
        const scopes = this.#permissions.scopesOf(actor, record);
        if (scopes !== noScopes) yield { id: record.id, scopes };
      }
    }
  }
}
