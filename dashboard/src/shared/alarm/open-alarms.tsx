// The open alarms of a device, or of one of its sensors, at the head of a page.
import { Box } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { deviceAlarmsQuery } from '../../api/alarms.ts';
import { useSession } from '../../api/use-session.ts';
import { AlarmList } from './alarm-list.tsx';

function useOpenAlarms(device: string) {
  const isUser = useSession().status === 'user';
  return useQuery({ ...deviceAlarmsQuery(device, 'active'), enabled: isUser });
}

/**
 * Whether they are on their way for the first time. They are asked for with what the page is about, so that they stand there when it does
 * and nothing moves for them. An answer that they may not be seen is one too, and is asked for again without the page going.
 */
export function useOpenAlarmsAreComing(device: string): boolean {
  const isUser = useSession().status === 'user';
  const { isFetched } = useOpenAlarms(device);
  return isUser && !isFetched;
}

/** Nothing where nothing is wrong. */
export function OpenAlarms({ device, sensor }: { readonly device: string; readonly sensor?: string }) {
  const { data } = useOpenAlarms(device);
  const alarms = data?.page.filter(({ sensor_id }) => sensor === undefined || sensor_id === sensor) ?? [];
  if (data === undefined || alarms.length === 0) return null;
  return (
    <Box mb="lg">
      <AlarmList alarms={alarms} total={sensor === undefined ? data.total : alarms.length} />
    </Box>
  );
}
