// The tab of a device with all alarms that it had.
import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { deviceAlarmsQuery } from '../../api/alarms.ts';
import { useSession } from '../../api/use-session.ts';
import { AlarmList } from '../../shared/alarm/alarm-list.tsx';
import { useOpenAlarmsAreComing } from '../../shared/alarm/open-alarms.tsx';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useStrings } from '../../strings/strings.ts';
import type { DeviceSearch } from './device-search.ts';

/**
 * Whether what a page shows of alarms from the first moment is on its way: those that are open, and where it was opened at their
 * tab all that were.
 */
export function useAlarmsAreComing(device: string, { tab }: DeviceSearch): boolean {
  const [isTab] = useState(tab === 'alarms');
  const isUser = useSession().status === 'user';
  const areOpenComing = useOpenAlarmsAreComing(device);
  const { isFetched } = useQuery({ ...deviceAlarmsQuery(device, 'all'), enabled: isUser && isTab });
  return areOpenComing || (isUser && isTab && !isFetched);
}

export function DeviceAlarms({ device }: { readonly device: string }) {
  const { now } = useStrings();
  const { data, error, refetch } = useQuery(deviceAlarmsQuery(device, 'all'));
  if (error !== null) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={160} />;
  if (data.total === 0) return <EmptyState title={now.noneOfDevice} />;
  return <AlarmList alarms={data.page} total={data.total} />;
}
