// Which rights on devices come from shares of their gateways, and of projects that name them (contract 3). Device and
// gateway or project must have the same owner: naming a device of somebody else in a project gives nobody a right on it. A project
// may name a device by a former id, as long as no other device has taken that id.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { type ScopeSet, scopesOn } from '../../../../domain/scopes.ts';
import type { UserKey } from '../../../../domain/users/user.ts';

/** Scopes on devices, as a parameter for `&`. */
export const deviceScopes: ScopeSet = scopesOn.device;

/**
 * A subquery with a row for each device and each share of its gateway or of one of its projects: `device` and its `id`, `user`,
 * `scopes` (also those on the gateway or project), `given_by`, and the `record` that is shared, with its `kind`. The
 * condition may use the columns of `reached`, the device, and of `given`, the share.
 */
export function inheritedShares(condition: RawBuilder<SqlBool>): RawBuilder<unknown> {
  const columns = sql`SELECT reached.key AS device, given."user" AS "user", given.scopes AS scopes,
    given.given_by AS given_by`;
  const isMet = sql`(given.scopes & ${deviceScopes}) <> 0 AND ${condition}`;
  return sql`(${columns}, 'gateway' AS kind, gateway.id AS record
      FROM device AS reached
      INNER JOIN gateway ON gateway.id = reached.gateway_id AND gateway.owner = reached.owner
      INNER JOIN gateway_share AS given ON given.record = gateway.key
      WHERE ${isMet}
    UNION ALL ${columns}, 'project' AS kind, project.id AS record
      FROM device AS reached
      INNER JOIN project_device AS named ON named.device_id = reached.id AND named.owner = reached.owner
      INNER JOIN project ON project.key = named.project
      INNER JOIN project_share AS given ON given.record = project.key
      WHERE ${isMet}
    UNION ALL ${columns}, 'project' AS kind, project.id AS record
      FROM device AS reached
      INNER JOIN former_device_id AS former ON former.device = reached.key
      INNER JOIN project_device AS named ON named.device_id = former.id AND named.owner = reached.owner
      INNER JOIN project ON project.key = named.project
      INNER JOIN project_share AS given ON given.record = project.key
      WHERE ${isMet} AND NOT ${isNamedOtherwise})`;
}

/** Whether the project names the device also by its present id, or by a former one that is counted instead: each project once. */
const isNamedOtherwise = sql<SqlBool>`EXISTS (SELECT 1 FROM project_device AS twin
  WHERE twin.project = named.project AND twin.device_id IN (SELECT reached.id
    UNION ALL SELECT other.id FROM former_device_id AS other WHERE other.device = reached.key AND other.id < former.id))`;

/**
 * Whether a share of this gateway gives rights on devices of the owner of `device`, unless that is its gateway already.
 */
export function isSharedGateway(gateway: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(device.gateway_id IS DISTINCT FROM ${gateway} AND EXISTS (SELECT 1 FROM gateway
    INNER JOIN gateway_share AS given ON given.record = gateway.key
    WHERE gateway.id = ${gateway} AND gateway.owner = device.owner AND (given.scopes & ${deviceScopes}) <> 0))`;
}

/** Whether a device is shared with the user by itself, its gateway or a project, with one of the scopes. */
export function isDeviceSharedWith(user: UserKey, scopes: ScopeSet): RawBuilder<SqlBool> {
  const isGiven = sql<SqlBool>`given."user" = ${user} AND (given.scopes & ${scopes}) <> 0`;
  return sql<SqlBool>`(device.key IN (SELECT share.device FROM share WHERE share."user" = ${user} AND (share.scopes & ${scopes}) <> 0)
    OR device.key IN (SELECT inherited.device FROM ${inheritedShares(isGiven)} AS inherited))`;
}
