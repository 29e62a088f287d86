// Sensors of several devices of a project on one chart: which ones and how far back stand in the address.

import { Button, Group, MultiSelect, SegmentedControl, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Device } from '../../api/client.ts';
import { currentOf } from '../../api/current-value.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import { Chart, ChartSkeleton } from '../../shared/chart/chart.tsx';
import { choiceOf, type SensorChoice, useHistories } from '../../shared/chart/use-histories.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { Section } from '../../shared/page/section.tsx';
import { useStrings } from '../../strings/strings.ts';
import { type ChartSpan, chartSpans, type ProjectSearch, type SensorRef } from './project-search.ts';
import classes from './projects.module.css';

interface JointChartProps {
  readonly project: string;
  readonly devices: readonly Device[];
  readonly search: ProjectSearch;
}

const dayMs = 86_400_000;
const height = 320;

export function JointChart({ project, devices, search }: JointChartProps) {
  const { projects, shared } = useStrings();
  const navigate = useNavigate();
  const [openedMs] = useState(() => Math.ceil(serverNow() / 60_000) * 60_000);
  // Each zoom lies on the one before, and is taken off by itself.
  const [zooms, setZooms] = useState<readonly { readonly fromMs: number; readonly toMs: number }[]>([]);
  const zoom = zooms.at(-1);
  const { days = 7, sensors = firstSensors(devices) } = search;
  const fromMs = openedMs - days * dayMs;
  const shown = sensors.filter(([device]) => devices.some(({ id }) => id === device)).slice(0, limits.chartSeriesMax);
  const span = zoom ?? { fromMs, toMs: openedMs + limits.futureMsMin };
  const choices = shown.map((place, index) => choiceFor(place, { devices, colour: index + 1 }));
  const { series: all, error, isLoading: isPending, retry } = useHistories(choices, { preset: undefined, ...span });
  const series = all.filter(({ points }) => points.length > 0);
  const change = (changed: ProjectSearch) => {
    setZooms([]);
    const next = { ...search, ...changed };
    void navigate({ to: '/projects/$project', params: { project }, search: next as never, replace: true });
  };
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
        <SegmentedControl
          size="sm"
          aria-label={projects.span}
          value={String(days)}
          onChange={(chosen) => change({ days: Number(chosen) as ChartSpan })}
          data={chartSpans.map((span) => ({ value: String(span), label: projects.days(span) }))}
        />
      </Group>
      {error !== undefined && <ProblemNotice error={error} retry={retry} />}
      {series.length > 0 ? (
        <Chart
          series={series}
          height={height}
          fromMs={zoom?.fromMs ?? fromMs}
          toMs={zoom?.toMs ?? openedMs}
          onZoom={(from, to) => setZooms([...zooms, { fromMs: from, toMs: to }].slice(-limits.zoomsMax))}
          onReset={zoom === undefined ? undefined : () => setZooms(zooms.slice(0, -1))}
        />
      ) : (
        <>
          {shown.length > 0 && isPending && <ChartSkeleton height={height} />}
          {(shown.length === 0 || !isPending) && <Text c="dimmed">{projects.chartEmpty}</Text>}
        </>
      )}
      {zoom !== undefined && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => setZooms(zooms.slice(0, -1))}>
          {shared.zoomBack}
        </Button>
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
