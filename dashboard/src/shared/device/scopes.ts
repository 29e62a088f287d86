// The rights on a device by the names of shares, and what they are called.
import { useStrings } from '../../strings/strings.ts';

export const scopeNames = [
  'device:view',
  'device-data:view',
  'device-data:create',
  'device:update',
  'device:delete',
] as const;
export type ScopeName = (typeof scopeNames)[number];

export function useScopeWords(): Readonly<Record<ScopeName, string>> {
  const { device: words } = useStrings();
  return {
    'device:view': words.scopeView,
    'device-data:view': words.scopeDataView,
    'device-data:create': words.scopeDataCreate,
    'device:update': words.scopeUpdate,
    'device:delete': words.scopeDelete,
  };
}
