// The courses of several sensors over one span, as lines of a chart. What was shown stays until the next answer is there.
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Sensor } from '../../api/client.ts';
import { historyQuery, type SensorHistory } from '../../api/history.ts';
import { isAddedUp } from '../device/added-up.ts';
import { type Calib, decimalsOfAll } from '../device/precision.ts';
import { type ChartPoint, type ChartSeries, hasBand } from './chart-series.ts';
import { withGaps } from './gaps.ts';
import type { Span } from './span.ts';

export interface SensorChoice {
  readonly device: string;
  readonly sensor: string;
  readonly label: string;
  readonly unit?: string | undefined;
  /** Of the palette, where it is not to be the place in the list. */
  readonly colour?: number;
  readonly calib?: Calib | undefined;
  /** Drawn as bars of the sums of hours, days or months. */
  readonly isSum?: boolean | undefined;
}

/** What a chart needs to know of a sensor; what it is called there stands with who draws it. */
export function choiceOf(sensor: Sensor, device: string): Omit<SensorChoice, 'label'> {
  const { id, unit, calib } = sensor;
  return { device, sensor: id, unit, calib, isSum: isAddedUp(sensor) };
}

export interface Histories {
  readonly series: readonly ChartSeries[];
  /** Each at the place of its choice; undefined until it is there. */
  readonly histories: readonly (SensorHistory | undefined)[];
  readonly error: unknown;
  readonly isLoading: boolean;
  readonly retry: () => void;
}

export function useHistories(choices: readonly SensorChoice[], { fromMs, toMs }: Span): Histories {
  const answers = useQueries({
    queries: choices.map(({ device, sensor, isSum = false }) => ({
      ...historyQuery({ device, sensor, fromMs, toMs, ...(isSum ? { isSum } : {}) }),
      placeholderData: keepPreviousData,
    })),
  });
  // What is kept may be another sensor's, when the choice has changed.
  const histories = answers.map(({ data }, index) => {
    const choice = choices[index];
    return data?.device === choice?.device && data?.sensor === choice?.sensor ? data : undefined;
  });
  const said = JSON.stringify(choices);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `said` stands for the choices, the answers for themselves.
  const series = useMemo(() => seriesOf(choices, histories), [said, ...histories]);
  return {
    series,
    histories,
    error: answers.find(({ error }) => error !== null)?.error,
    isLoading: answers.some(({ isPending }) => isPending),
    retry: () => void Promise.all(answers.map(({ refetch }) => refetch())),
  };
}

function seriesOf(
  choices: readonly SensorChoice[],
  histories: readonly (SensorHistory | undefined)[],
): readonly ChartSeries[] {
  return choices.map(({ device, sensor, label, unit, colour, calib }, index) => {
    const { points = [], isSum = false, ...distances } = histories[index] ?? {};
    return {
      id: `${device}/${sensor}`,
      label,
      unit,
      ...(colour === undefined ? {} : { colour }),
      ...(isSum ? { isBars: true } : {}),
      decimals: decimalsOfPoints(points, calib),
      points: isSum ? points : withGaps(points, distances),
    };
  });
}

/** As many as what was measured has; means have one more. */
export function decimalsOfPoints(points: readonly ChartPoint[], calib: Calib | undefined): number {
  if (!hasBand(points))
    return decimalsOfAll(
      points.map(({ value }) => value),
      calib,
    );
  return (
    decimalsOfAll(
      points.flatMap(({ min, max }) => [min, max]),
      calib,
    ) + 1
  );
}
