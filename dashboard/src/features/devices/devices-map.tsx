// The list of devices as a map: those that fit the filters and have a position. Loaded when it is asked for.
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { DeviceMap } from '../../shared/map/device-map.tsx';
import { type DevicesQuestion, placedQuery } from '../../shared/map/placed-devices.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { usePageStrings } from '../../strings/strings.ts';

export function DevicesMap({ question }: { readonly question: DevicesQuestion }) {
  const { places } = usePageStrings();
  const { data, error, refetch } = useQuery(placedQuery(question));
  return (
    <>
      {error !== null && <ProblemNotice error={error} retry={() => void refetch()} />}
      <DeviceMap devices={data?.devices ?? []} height="calc(100dvh - 250px)" />
      <Text c="dimmed" fz="sm" mt="xs">
        {data === undefined ? '\u00a0' : places.count(data.devices.length, data.total)}
      </Text>
    </>
  );
}
