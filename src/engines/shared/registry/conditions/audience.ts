// SQL conditions for who may see what: the rule of Permissions.scopesOf (I6), for each kind of record.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Audience } from '../../../../domain/permissions/permission.ts';
import type { RecordKind } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';
import { isDeviceSharedWith } from './inherited-shares.ts';

/** The caller of a search: callers take turns, and no search runs for a caller who has gone. */
export function callerOf({ caller = '', isGone }: Audience): {
  readonly caller: string;
  readonly isGone: (() => boolean) | undefined;
} {
  return { caller, isGone };
}

/** The caller of a list of one author's records, or of all authors' for an admin. */
export function callerOfAuthor({ author }: { readonly author?: UserKey | undefined }): { readonly caller: string } {
  return { caller: author === undefined ? 'admins' : `author ${author}` };
}

/** The rows of the kind's table that the audience may see. */
export function audienceCondition(kind: RecordKind, audience: Audience): RawBuilder<SqlBool> {
  if (audience.only === undefined) return whoseCondition(kind, audience);
  if (audience.only.length === 0) return sql`1 = 0`;
  const ids = sql.join(audience.only);
  const isOne = sql`${sql.ref(`${kind}.id`)} IN (${ids})`;
  // A key goes on where it names a device by an id that this had before (permissions/key-restriction.ts).
  const isNamed =
    kind === 'device'
      ? sql`(${isOne} OR device.key IN (SELECT former.device FROM former_device_id AS former WHERE former.id IN (${ids})))`
      : isOne;
  return sql`(${isNamed} AND ${whoseCondition(kind, audience)})`;
}

function whoseCondition(kind: RecordKind, audience: Audience): RawBuilder<SqlBool> {
  if (audience.all) return sql`1 = 1`;
  const conditions: RawBuilder<SqlBool>[] = [];
  // Projects have no visibility: they are private.
  if (audience.public && kind !== 'project') conditions.push(sql`${sql.ref(`${kind}.visibility`)} = 'public'`);
  if (audience.user !== undefined) {
    conditions.push(sql`${sql.ref(`${kind}.owner`)} = ${audience.user}`);
    conditions.push(
      kind === 'device'
        ? isDeviceSharedWith(audience.user, audience.shared)
        : sql`${sql.ref(`${kind}.key`)} IN (SELECT given.record FROM ${sql.table(`${kind}_share`)} AS given
            WHERE given."user" = ${audience.user} AND (given.scopes & ${audience.shared}) <> 0)`,
    );
  }
  return conditions.length === 0 ? sql`1 = 0` : sql`(${sql.join(conditions, sql` OR `)})`;
}
