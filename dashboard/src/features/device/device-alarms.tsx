// The alarms of a device: those that are open at the head of its page, and in a tab all that were.
import { Box, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { deviceAlarmsQuery } from '../../api/alarms.ts';
import { useSession } from '../../api/use-session.ts';
import { AlarmList } from '../../shared/alarm/alarm-list.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useStrings } from '../../strings/strings.ts';
import type { DeviceSearch } from './device-search.ts';

function useOpenAlarms(device: string) {
  const isUser = useSession().status === 'user';
  return useQuery({ ...deviceAlarmsQuery(device, 'active'), enabled: isUser });
}

/**
 * Whether what a page shows of alarms from the first moment is on its way: those that are open, and where it was opened at their
 * tab all that were. They are asked for with the device, so that they stand there when it does and nothing moves for them.
 */
export function useAlarmsAreComing(device: string, { tab }: DeviceSearch): boolean {
  const [isTab] = useState(tab === 'alarms');
  const isUser = useSession().status === 'user';
  // An answer that they may not be seen is one too, and is asked for again without the page going.
  const { isFetched } = useOpenAlarms(device);
  const { isFetched: isTabFetched } = useQuery({ ...deviceAlarmsQuery(device, 'all'), enabled: isUser && isTab });
  return isUser && !(isFetched && (isTabFetched || !isTab));
}

/** Nothing where nothing is wrong. */
export function OpenAlarms({ device }: { readonly device: string }) {
  const { data } = useOpenAlarms(device);
  if (data === undefined || data.total === 0) return null;
  return (
    <Box mb="lg">
      <AlarmList alarms={data.page} total={data.total} />
    </Box>
  );
}

export function DeviceAlarms({ device }: { readonly device: string }) {
  const { now } = useStrings();
  const { data, error, refetch } = useQuery(deviceAlarmsQuery(device, 'all'));
  if (error !== null) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={160} />;
  if (data.total === 0) return <EmptyState title={now.noneOfDevice} />;
  return <AlarmList alarms={data.page} total={data.total} />;
}
