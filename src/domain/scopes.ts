// The scopes: rights on devices (spec 2.7), gateways and projects (contract 3). A set of scopes is one number: bit n
// stands for `scopeNames[n]`. Each kind of record has its own bits, so that one set can hold scopes on all kinds.

export const scopeNames = [
  'devices:view',
  'devices:update',
  'devices:delete',
  'devices-data:view',
  'devices-data:create',
  'gateways:view',
  'gateways:update',
  'gateways:delete',
  'projects:view',
  'projects:update',
  'projects:delete',
] as const;

export type ScopeName = (typeof scopeNames)[number];

/** A set of scopes: the sum of values of `scope`. */
export type ScopeSet = number & { readonly __brand?: 'ScopeSet' };

export const scope = {
  view: 1,
  update: 2,
  delete: 4,
  dataView: 8,
  dataCreate: 16,
  gatewayView: 32,
  gatewayUpdate: 64,
  gatewayDelete: 128,
  projectView: 256,
  projectUpdate: 512,
  projectDelete: 1024,
} as const;

export const noScopes: ScopeSet = 0;
/** All scopes on each kind of record. */
export const scopesOn = {
  device: scope.view | scope.update | scope.delete | scope.dataView | scope.dataCreate,
  gateway: scope.gatewayView | scope.gatewayUpdate | scope.gatewayDelete,
  project: scope.projectView | scope.projectUpdate | scope.projectDelete,
} as const satisfies Readonly<Record<string, ScopeSet>>;

/** The kinds of records that have rights. */
export type RecordKind = keyof typeof scopesOn;

/** The scopes that a public record gives everyone (contract 3). */
export const publicScopes: ScopeSet = scope.view | scope.dataView | scope.dataCreate | scope.gatewayView;

/** The names of the scopes in the set, in the order of `scopeNames`. */
export function namesOfScopes(set: ScopeSet): ScopeName[] {
  return scopeNames.filter((_, bit) => (set & (1 << bit)) !== 0);
}

/**
 * Parses the name of a scope, plural (`devices:view`) or singular (`device:view`), for devices also as version 1 calls it
 * (`sensor:view`, `sensors-data:view`); undefined: no such name.
 */
export function parseScopeName(name: string): ScopeSet | undefined {
  const plural = name.replace(/^(?:device|sensor)s?(-data)?:/, 'devices$1:').replace(/^(gateway|project):/, '$1s:');
  const bit = (scopeNames as readonly string[]).indexOf(plural);
  return bit < 0 ? undefined : 1 << bit;
}

/** The names that shares show, in the singular (`device:view`, spec 2.7). */
export function grantNamesOfScopes(set: ScopeSet): string[] {
  return namesOfScopes(set).map((name) => name.replace(/^(device|gateway|project)s/, '$1'));
}
