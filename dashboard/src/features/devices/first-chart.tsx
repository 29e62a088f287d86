// The first values of a device, drawn; loaded when the first one has arrived.

import { useQuery } from '@tanstack/react-query';
import { api, call, type Datapoint, type Device } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { timeOfPoint } from '../../api/devices.ts';
import { keys } from '../../api/query-keys.ts';
import { Chart } from '../../shared/chart/chart.tsx';
import type { ChartSeries } from '../../shared/chart/chart-series.ts';
import { Value } from '../../shared/device/value.tsx';

const pollMs = 2_000;

export function FirstChart({ device }: { readonly device: Device }) {
  const sensor = device.sensors.find(({ last_value }) => last_value !== undefined);
  const sensorId = sensor?.id ?? '';
  const query = { lastN: 100 };
  const { data = [] } = useQuery({
    queryKey: keys.values(device.id, sensorId, query),
    refetchInterval: pollMs,
    queryFn: async () => {
      const path = { device: device.id, sensor: sensorId };
      const params = { path, query: query as never };
      return (await call(api.GET('/api/v2/devices/{device}/sensors/{sensor}/values', { params }))) as Datapoint[];
    },
  });
  const points = data.toReversed().map((point) => ({
    atMs: timeOfPoint(point),
    value: typeof point.value === 'number' ? point.value : null,
  }));
  const series: ChartSeries[] = [{ id: sensorId, label: sensor?.name ?? sensorId, unit: sensor?.unit, points }];
  return (
    <>
      <Value value={sensor && currentOf(sensor)?.value} unit={sensor?.unit} size="tile" calib={sensor?.calib} />
      <Chart series={series} height={140} />
    </>
  );
}
