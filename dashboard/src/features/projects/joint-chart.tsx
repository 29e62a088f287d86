// Sensors of several devices of a project on one chart: which ones and the span stand in the address.
import { Group, MultiSelect, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Device } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { limits } from '../../limits.ts';
import { Chart, ChartSkeleton } from '../../shared/chart/chart.tsx';
import { shownSpan, spanOf, zoomTo } from '../../shared/chart/span.ts';
import { SpanPicker } from '../../shared/chart/span-picker.tsx';
import { spanStep, useSpanBack } from '../../shared/chart/span-steps.ts';
import { choiceOf, type SensorChoice, useHistories } from '../../shared/chart/use-histories.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { useNow } from '../../shared/page/use-now.ts';
import { usePageStrings } from '../../strings/strings.ts';
import type { ProjectSearch, SensorRef } from './project-search.ts';
import classes from './projects.module.css';

interface JointChartProps {
  readonly project: string;
  readonly devices: readonly Device[];
  readonly search: ProjectSearch;
}

const height = 320;

export function JointChart({ project, devices, search }: JointChartProps) {
  const { projects } = usePageStrings();
  const navigate = useNavigate();
  const nowMs = useNow();
  const { sensors = firstSensors(devices) } = search;
  const shown = sensors.filter(([device]) => devices.some(({ id }) => id === device)).slice(0, limits.chartSeriesMax);
  const span = spanOf({ ...search, span: search.span ?? '7d' }, { nowMs, lastMs: undefined });
  const choices = shown.map((place, index) => choiceFor(place, { devices, colour: index + 1 }));
  const { series: all, histories, error, isLoading, retry } = useHistories(choices, span);
  const series = all.filter(({ points }) => points.length > 0);
  const ends = histories.flatMap((one) => [one?.points[0], one?.points.at(-1)]).filter((point) => point !== undefined);
  const { fromMs, toMs } = shownSpan(span, { search, nowMs, points: ends.toSorted((a, b) => a.atMs - b.atMs) });
  const change = (changed: ProjectSearch) => {
    const next = { ...search, ...changed };
    void navigate({
      ...{ to: '/projects/$project', params: { project }, search: next as never, resetScroll: false },
      ...spanStep(changed),
    });
  };
  const back = useSpanBack(() => change({ from: undefined, to: undefined }));
  return (
    <Section title={projects.chart}>
      <Group mb="sm" align="flex-end" className={classes.chartHead}>
        <MultiSelect
          className={classes.sensors}
          searchable
          hidePickedOptions
          aria-label={projects.sensors}
          placeholder={shown.length === 0 ? projects.chooseSensors : ''}
          maxValues={limits.chartSeriesMax}
          data={optionsOf(devices)}
          value={shown.map((place) => JSON.stringify(place))}
          onChange={(chosen) => change({ sensors: chosen.map((text) => JSON.parse(text) as SensorRef) })}
        />
        <SpanPicker span={span} shown={fromMs === undefined ? undefined : { fromMs, toMs }} onChange={change} />
      </Group>
      {error !== undefined && <ProblemNotice error={error} retry={retry} />}
      {series.length > 0 ? (
        <Chart
          series={series}
          height={height}
          fromMs={fromMs}
          toMs={toMs}
          onZoom={(from, to) => change(zoomTo(from, to))}
          onReset={span.preset === undefined ? back : undefined}
        />
      ) : (
        <>
          {shown.length > 0 && isLoading && <ChartSkeleton height={height} />}
          {(shown.length === 0 || !isLoading) && <Text c="dimmed">{projects.chartEmpty}</Text>}
        </>
      )}
    </Section>
  );
}

function choiceFor(
  place: SensorRef,
  { devices, colour }: { readonly devices: readonly Device[]; readonly colour: number },
): SensorChoice {
  const [device, sensor] = place;
  const found = devices.find(({ id }) => id === device)?.sensors.find(({ id }) => id === sensor);
  return { ...choiceOf(found ?? { id: sensor }, device), label: labelOf(place, devices), colour };
}

/** Of each device the first sensor that gives numbers, so that there is something to see. */
function firstSensors(devices: readonly Device[]): readonly SensorRef[] {
  return devices.flatMap(({ id, sensors }): SensorRef[] => {
    const first = sensors.find((sensor) => typeof currentOf(sensor)?.value === 'number');
    return first === undefined ? [] : [[id, first.id]];
  });
}

function optionsOf(devices: readonly Device[]) {
  return devices.map(({ id, name, sensors }) => ({
    group: name || id,
    items: sensors.map((sensor) => ({
      value: JSON.stringify([id, sensor.id]),
      label: labelOf([id, sensor.id], devices),
    })),
  }));
}

function labelOf([device, sensor]: SensorRef, devices: readonly Device[]): string {
  const found = devices.find(({ id }) => id === device);
  const { name } = found?.sensors.find(({ id }) => id === sensor) ?? {};
  return `${name || sensor} · ${found?.name || device}`;
}
