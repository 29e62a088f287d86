// The five rights on a device (spec 2.7) as bits of one number, in the order in which spec.md lists them.

export const scopeNames = [
  'devices:view',
  'devices:update',
  'devices:delete',
  'devices-data:view',
  'devices-data:create',
] as const;

export type ScopeName = (typeof scopeNames)[number];

/** A set of scopes; bit n stands for scopeNames[n]. */
export type ScopeSet = number & { readonly __brand?: 'ScopeSet' };

export const scope = {
  view: 1,
  update: 2,
  delete: 4,
  dataView: 8,
  dataCreate: 16,
} as const;

export const noScopes: ScopeSet = 0;
export const allScopes: ScopeSet = 31;
/** What a public device gives everyone (contract 3). */
export const publicScopes: ScopeSet = scope.view | scope.dataView | scope.dataCreate;

/** The names of the scopes in the set, in spec.md's order. */
export function namesOfScopes(set: ScopeSet): ScopeName[] {
  return scopeNames.filter((_, bit) => (set & (1 << bit)) !== 0);
}

/** Reads a scope's name, in the plural (`devices:view`) or as spec.md names what is granted (`device:view`). */
export function parseScopeName(name: string): ScopeSet | undefined {
  const plural = name.replace(/^device(-data)?:/, 'devices$1:');
  const bit = scopeNames.findIndex((known) => known === plural);
  return bit < 0 ? undefined : 1 << bit;
}

/** The granting names of spec 2.7 (`device:view`), as shares show them. */
export function grantNamesOfScopes(set: ScopeSet): string[] {
  return namesOfScopes(set).map((name) => name.replace(/^devices/, 'device'));
}
