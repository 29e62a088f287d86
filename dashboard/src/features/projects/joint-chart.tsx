// Sensors of several devices of a project on one chart: which ones and how far back stand in the address.
import { Group, MultiSelect, SegmentedControl, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Device } from '../../api/client.ts';
import { courseQuery } from '../../api/courses.ts';
import { serverNow } from '../../api/server-time.ts';
import { limits } from '../../limits.ts';
import { Chart, ChartSkeleton } from '../../shared/chart/chart.tsx';
import type { ChartSeries } from '../../shared/chart/chart-series.ts';
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
  const { projects } = useStrings();
  const navigate = useNavigate();
  const [openedMs] = useState(() => Math.ceil(serverNow() / 60_000) * 60_000);
  const [zoom, setZoom] = useState<{ readonly fromMs: number; readonly toMs: number }>();
  const { days = 7, sensors = firstSensors(devices) } = search;
  const fromMs = openedMs - days * dayMs;
  const shown = sensors.filter(([device]) => devices.some(({ id }) => id === device)).slice(0, limits.chartSeriesMax);
  const {
    data = [],
    error,
    isPending,
  } = useQuery(courseQuery({ ...placesOf(shown), fromMs, toMs: openedMs + limits.futureMsMin }));
  const change = (changed: ProjectSearch) => {
    setZoom(undefined);
    const next = { ...search, ...changed };
    void navigate({ to: '/projects/$project', params: { project }, search: next as never, replace: true });
  };
  const series = shown.flatMap((place, index): ChartSeries[] => {
    const course = data.find(({ device, sensor }) => device === place[0] && sensor === place[1]);
    if (course === undefined) return [];
    const { label, unit } = wordsOf(place, devices);
    return [{ id: place.join('/'), label, unit, points: course.points, colour: index + 1 }];
  });
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
      {error !== null && <ProblemNotice error={error} />}
      {series.length > 0 ? (
        <Chart
          series={series}
          height={height}
          fromMs={zoom?.fromMs ?? fromMs}
          toMs={zoom?.toMs ?? openedMs}
          onZoom={(from, to) => setZoom({ fromMs: from, toMs: to })}
          onReset={() => setZoom(undefined)}
        />
      ) : (
        <>
          {shown.length > 0 && isPending && <ChartSkeleton height={height} />}
          {(shown.length === 0 || !isPending) && <Text c="dimmed">{projects.chartEmpty}</Text>}
        </>
      )}
    </Section>
  );
}

function placesOf(places: readonly SensorRef[]) {
  return {
    devices: [...new Set(places.map(([device]) => device))],
    sensors: [...new Set(places.map(([, sensor]) => sensor))],
  };
}

/** Of each device the first sensor that gives numbers, so that there is something to see. */
function firstSensors(devices: readonly Device[]): readonly SensorRef[] {
  return devices.flatMap(({ id, sensors }): SensorRef[] => {
    const first = sensors.find(({ last_value }) => typeof last_value?.value === 'number');
    return first === undefined ? [] : [[id, first.id]];
  });
}

function optionsOf(devices: readonly Device[]) {
  return devices.map(({ id, name, sensors }) => ({
    group: name || id,
    items: sensors.map((sensor) => ({
      value: JSON.stringify([id, sensor.id]),
      label: wordsOf([id, sensor.id], devices).label,
    })),
  }));
}

function wordsOf([device, sensor]: SensorRef, devices: readonly Device[]): { label: string; unit: string | undefined } {
  const found = devices.find(({ id }) => id === device);
  const { name, unit } = found?.sensors.find(({ id }) => id === sensor) ?? {};
  return { label: `${name || sensor} · ${found?.name || device}`, unit };
}
