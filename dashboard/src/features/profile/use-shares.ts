// What is shared with me, or by me: devices, then gateways, then projects.
import { useQueries } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { keys } from '../../api/query-keys.ts';
import type { Shared } from '../../shared/device/use-share-change.ts';

export interface SharedShare {
  /** What is shared. */
  readonly of: Shared;
  readonly share: Schemas['SharedDevice'];
}

const kinds = ['device', 'gateway', 'project'] as const;

export function useShares(direction: 'with-me' | 'by-me') {
  const answers = useQueries({
    queries: kinds.map((kind) => ({
      queryKey: keys.shares(direction, kind),
      queryFn: () => {
        const query = { kind, direction, limit: 1_000, offset: 0 };
        return call(api.GET('/api/v2/auth/shares', { params: { query } }));
      },
    })),
  });
  const isComplete = answers.every(({ data }) => data !== undefined);
  const shares = answers.flatMap(({ data = [] }, n): SharedShare[] => {
    const kind = kinds[n] ?? 'device';
    return data.map((share) => ({ of: { kind, id: share[kind] ?? '' }, share }));
  });
  return {
    /** Undefined until all are there, so that no row moves. */
    data: isComplete ? shares : undefined,
    error: answers.find(({ error }) => error !== null)?.error ?? null,
    refetch: () => Promise.all(answers.map((answer) => answer.refetch())),
  };
}

/** The address of the page of what is shared. */
export function pageOf({ kind, id }: Shared) {
  return { to: `/${kind}s/$${kind}`, params: { [kind]: id } };
}
