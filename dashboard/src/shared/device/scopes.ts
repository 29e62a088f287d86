// The rights on a device, a gateway and a project by the names of shares, and what they are called.
import { usePageStrings } from '../../strings/strings.ts';

export type SharedKind = 'device' | 'gateway' | 'project';

export const scopeNames = [
  'device:view',
  'device-data:view',
  'device-data:create',
  'device:update',
  'device:delete',
] as const;
export type ScopeName = (typeof scopeNames)[number];

const recordScopeNames = {
  gateway: ['gateway:view', 'gateway:update', 'gateway:delete'],
  project: ['project:view', 'project:update', 'project:delete'],
} as const;
type RecordScopeName = (typeof recordScopeNames)[keyof typeof recordScopeNames][number];

/** The rights that a share of such a record can give: on the record itself, and on its devices. */
export function scopesOf(kind: SharedKind): { readonly own: readonly string[]; readonly ofDevices: readonly string[] } {
  if (kind === 'device') return { own: scopeNames, ofDevices: [] };
  return { own: recordScopeNames[kind], ofDevices: scopeNames };
}

export function useScopeWords(): Readonly<Record<ScopeName | RecordScopeName, string>> {
  const { device: words } = usePageStrings();
  return {
    'device:view': words.scopeView,
    'device-data:view': words.scopeDataView,
    'device-data:create': words.scopeDataCreate,
    'device:update': words.scopeUpdate,
    'device:delete': words.scopeDelete,
    'gateway:view': words.scopeGatewayView,
    'gateway:update': words.scopeGatewayUpdate,
    'gateway:delete': words.scopeGatewayDelete,
    'project:view': words.scopeProjectView,
    'project:update': words.scopeUpdate,
    'project:delete': words.scopeDelete,
  };
}

/** What a right is called; the name itself where this release does not know it. */
export function scopeWord(words: Readonly<Record<string, string>>, scope: string): string {
  return Object.hasOwn(words, scope) ? (words[scope] ?? scope) : scope;
}
