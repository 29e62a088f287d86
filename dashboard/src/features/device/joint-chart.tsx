// Chosen sensors of a device in one chart; which ones, and the span, stand in the address.

import { Chip, Group, Text } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import type { Device } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { measuredAt } from '../../api/devices.ts';
import type { Rights } from '../../api/rights.ts';
import { settingsQuery } from '../../api/settings.ts';
import { limits } from '../../limits.ts';
import { Chart, ChartSkeleton } from '../../shared/chart/chart.tsx';
import { shownSpan, spanOf, zoomTo } from '../../shared/chart/span.ts';
import { SpanPicker } from '../../shared/chart/span-picker.tsx';
import { useSpanBack } from '../../shared/chart/span-steps.ts';
import { choiceOf, useHistories } from '../../shared/chart/use-histories.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useNow } from '../../shared/page/use-now.ts';
import { usePageStrings } from '../../strings/strings.ts';
import type { DeviceSearch } from './device-search.ts';
import { FutureSensors } from './future-sensors.tsx';
import classes from './section.module.css';

const height = 300;
/** Without a choice; more axes than two leave no room for the lines. */
const unitsAtFirst = 2;
const linesAtFirst = 3;

export interface JointChartProps {
  readonly device: Device;
  readonly rights: Rights;
  readonly search: DeviceSearch;
  readonly onChange: (changed: DeviceSearch) => void;
}

export function JointChart({ device, rights, search, onChange }: JointChartProps) {
  const { device: words } = usePageStrings();
  const nowMs = useNow();
  const drawable = device.sensors.filter((sensor) => typeof currentOf(sensor)?.value === 'number');
  const chosen = search.chart ?? chooseFirst(device);
  const shown = drawable.filter(({ id }) => chosen.includes(id));
  const lastMs = shown
    .map(currentOf)
    .reduce(
      (newest: number | undefined, last) => (last === undefined ? newest : Math.max(newest ?? 0, measuredAt(last))),
      undefined,
    );
  const span = spanOf(search, { nowMs, lastMs });
  const choices = shown.map((sensor) => ({ ...choiceOf(sensor, device.id), label: sensor.name || sensor.id }));
  const { series, histories, error, isLoading, retry } = useHistories(choices, span);
  const settingsMs = useSettings(device, rights);
  const back = useSpanBack(() => onChange({ from: undefined, to: undefined }));
  if (drawable.length === 0) return null;
  const isEmpty = !isLoading && series.every(({ points }) => points.length === 0);
  const ends = histories.flatMap((one) => [one?.points[0], one?.points.at(-1)]).filter((point) => point !== undefined);
  const { fromMs, toMs } = shownSpan(span, { search, nowMs, points: ends.toSorted((a, b) => a.atMs - b.atMs) });
  const marked = settingsMs.filter((atMs) => atMs >= (fromMs ?? 0) && atMs <= toMs);
  return (
    <section className={classes.section}>
      <Group justify="space-between" gap="sm" mb="sm">
        <h2 className={classes.heading}>{words.joint}</h2>
        <SpanPicker span={span} shown={fromMs === undefined ? undefined : { fromMs, toMs }} onChange={onChange} />
      </Group>
      <Chip.Group multiple value={[...chosen]} onChange={(chart) => onChange({ chart })}>
        <Group gap={6} mb="sm" role="group" aria-label={words.jointChoose}>
          {drawable.slice(0, 40).map(({ id, name }) => (
            <Chip key={id} value={id} size="sm" variant="outline" maw="100%">
              {name || id}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
      {error !== undefined && <ProblemNotice error={error} retry={retry} />}
      {shown.length === 0 && <Text c="dimmed">{words.jointNothing}</Text>}
      {shown.length > 0 && isLoading && <ChartSkeleton height={height} />}
      {shown.length > 0 && isEmpty && <Text c="dimmed">{words.jointEmpty}</Text>}
      {shown.length > 0 && !isLoading && !isEmpty && (
        <Chart
          series={series}
          height={height}
          fromMs={fromMs}
          toMs={toMs}
          settingsMs={marked}
          onZoom={(from, to) => onChange(zoomTo(from, to))}
          onReset={span.preset === undefined ? back : undefined}
        />
      )}
      {shown.length > 0 && !isLoading && !isEmpty && marked.length > 0 && (
        <Text fz="xs" c="dimmed" mt={6}>
          ▲ {words.settingsMarked(marked.length)}
        </Text>
      )}
      <FutureSensors device={device} />
    </section>
  );
}

/** When the actuators of the device were set. */
function useSettings({ id, actuators }: Device, { mayReadData }: Rights): readonly number[] {
  const read = mayReadData ? actuators.slice(0, limits.settingsMarkedMax) : [];
  const answers = useQueries({ queries: read.map((actuator) => settingsQuery(id, actuator.id)) });
  return answers.flatMap(({ data = [] }) => data.map(({ timestamp }) => Date.parse(timestamp)));
}

/** The first sensors with numbers that share two units. */
function chooseFirst({ sensors }: Device): readonly string[] {
  const units = new Set<string>();
  const first: string[] = [];
  for (const sensor of sensors) {
    const { id, unit = '' } = sensor;
    if (typeof currentOf(sensor)?.value !== 'number' || first.length === linesAtFirst) continue;
    if (!units.has(unit) && units.size === unitsAtFirst) continue;
    units.add(unit);
    first.push(id);
  }
  return first.slice(0, limits.chartSeriesMax);
}
