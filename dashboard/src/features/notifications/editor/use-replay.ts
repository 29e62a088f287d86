// What the notification being edited would have done lately: asked of the server whenever it stands still for a moment.
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../../api/client.ts';
import { keys } from '../../../api/query-keys.ts';
import type { components } from '../../../api/schema.generated.ts';
import { serverNow } from '../../../api/server-time.ts';
import { limits } from '../../../limits.ts';
import { type Draft, isReady, toDryRun } from './draft.ts';

export type ReplayReport = components['schemas']['NotificationTestReport'];
const dayMs = 86_400_000;
export const replaySpans = [1, 7, 30, 90] as const;

export interface ReplayState {
  readonly report: ReplayReport | undefined;
  /** The server's refusal of what is being edited. */
  readonly error: unknown;
  readonly isReady: boolean;
  readonly isRunning: boolean;
  readonly days: number;
  readonly setDays: (days: number) => void;
  readonly fromMs: number;
}

export function useReplay(draft: Draft): ReplayState {
  const [days, setDays] = useState<number>(30);
  const [openedMs] = useState(() => Math.ceil(serverNow() / 60_000) * 60_000);
  const fromMs = openedMs - days * dayMs;
  const ready = isReady(draft);
  const text = ready ? JSON.stringify({ ...toDryRun(draft), date_from: new Date(fromMs).toISOString() }) : '';
  const [asked] = useDebouncedValue(text, limits.replayPauseMs);
  const { data, error, isFetching } = useQuery({
    queryKey: keys.replay({ asked }),
    enabled: asked !== '' && ready,
    retry: false,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
    queryFn: () => call(api.POST('/api/v2/notifications/test', { body: JSON.parse(asked) as never })),
  });
  const isSettled = asked === text;
  return {
    report: ready && error === null ? data : undefined,
    error: ready && isSettled ? error : null,
    isReady: ready,
    isRunning: ready && (isFetching || !isSettled),
    ...{ days, setDays, fromMs },
  };
}
