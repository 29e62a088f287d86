// What of the map stands in its address: what is searched for, and which states are left out.
import type { Freshness } from '../../shared/device/freshness.ts';

export const mapStates: readonly Freshness[] = ['fresh', 'late', 'silent', 'never'];

export interface PlacesSearch {
  readonly find?: string | undefined;
  /** States that are not shown, with commas between. */
  readonly without?: string | undefined;
}

export function parsePlacesSearch(raw: Record<string, unknown>): PlacesSearch {
  const { find, without } = raw;
  const left = hiddenStates(typeof without === 'string' ? without : undefined);
  return {
    find: (typeof find === 'string' || typeof find === 'number') && find !== '' ? String(find) : undefined,
    without: left.length === 0 ? undefined : left.join(','),
  };
}

export function hiddenStates(without: string | undefined): readonly Freshness[] {
  const named = without?.split(',') ?? [];
  return mapStates.filter((state) => named.includes(state));
}
