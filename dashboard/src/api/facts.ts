// What the dashboard must know before anybody signs in (/dashboard.json), read once.
import { queryOptions } from '@tanstack/react-query';
import { ApiProblem } from './api-problem.ts';
import { keys } from './query-keys.ts';

export interface Facts {
  readonly version: string;
  readonly selfRegistration: boolean;
  readonly guestAccess: 'full' | 'push' | 'none';
  readonly defaultVisibility: 'public' | 'private';
  readonly passwordLengthMin: number;
  /** Absent: maps are drawn without tiles. */
  readonly tiles?: { readonly url: string; readonly attribution: string };
  readonly mqtt: { readonly port: number; readonly tlsPort?: number };
}

export const factsQuery = queryOptions({
  queryKey: keys.facts,
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
  queryFn: async (): Promise<Facts> => {
    const answer = await fetch('/dashboard.json').catch((error: unknown) => {
      throw ApiProblem.unreachable(error);
    });
    if (!answer.ok) throw await ApiProblem.of(answer);
    return (await answer.json()) as Facts;
  },
});
