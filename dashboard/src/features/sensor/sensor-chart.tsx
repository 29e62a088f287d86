// The chart of a sensor with its span, the sensors beside it, thresholds with their firings, figures, and downloads.
import { SegmentedControl, Text } from '@mantine/core';
import { useMediaQuery, useViewportSize } from '@mantine/hooks';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type uPlot from 'uplot';
import type { Device, Sensor } from '../../api/client.ts';
import type { EditedSpan } from '../../api/datapoint-edits.ts';
import { deviceQuery } from '../../api/devices.ts';
import { futureQuery } from '../../api/future.ts';
import type { SensorHistory } from '../../api/history.ts';
import { Chart, ChartSkeleton } from '../../shared/chart/chart.tsx';
import { shownSpan, spanOf, zoomTo } from '../../shared/chart/span.ts';
import { SpanPicker } from '../../shared/chart/span-picker.tsx';
import { useSpanBack } from '../../shared/chart/span-steps.ts';
import { choiceOf, type SensorChoice, useHistories } from '../../shared/chart/use-histories.ts';
import { isAddedUp } from '../../shared/device/added-up.ts';
import { EmptyState } from '../../shared/page/empty-state.tsx';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { useNow } from '../../shared/page/use-now.ts';
import type { Strings } from '../../strings/catalogue.ts';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import { Downloads } from './downloads.tsx';
import { EditPanel } from './edit/edit-panel.tsx';
import { wholeSeconds } from './edit/span-fields.tsx';
import { FutureNotice, spanOfFuture } from './future-notice.tsx';
import { OtherValues } from './other-values.tsx';
import classes from './sensor-chart.module.css';
import { type SensorSearch, splitPlace } from './sensor-search.ts';
import { SeriesPicker } from './series-picker.tsx';
import { Statistics } from './statistics.tsx';
import { durationOf } from './step-words.ts';
import { useThresholds } from './thresholds.ts';

/** The words under the chart, with what is above them. */
const legendHeight = 24;

export interface SensorChartProps {
  readonly device: Device;
  readonly sensor: Sensor;
  readonly lastMs: number | undefined;
  readonly search: SensorSearch;
  /** Whether the user may delete and correct stored values, and see them. */
  readonly mayEdit: boolean;
  readonly onChange: (changed: SensorSearch) => void;
}

export function SensorChart({ device, sensor, lastMs, search, mayEdit, onChange }: SensorChartProps) {
  const { sensor: words } = usePageStrings();
  const nowMs = useNow();
  const span = spanOf(search, { nowMs, lastMs });
  const choices = useChoices(device, sensor, search);
  const { series, histories, error, retry } = useHistories(choices, span);
  const { lines, firingsMs, rules } = useThresholds(device.id, sensor.id);
  const [plot, setPlot] = useState<uPlot>();
  const [chosen, setChosen] = useState<EditedSpan>();
  const isEditing = mayEdit && search.edit === true;
  const height = useChartHeight();
  const main = histories[0];
  const { fromMs: shownFromMs, toMs: shownToMs } = shownSpan(span, { search, nowMs, points: main?.points ?? [] });
  const shown = shownFromMs === undefined ? undefined : { fromMs: shownFromMs, toMs: shownToMs };
  const back = useSpanBack(() => onChange({ from: undefined, to: undefined }));
  const { data: future = [] } = useQuery(futureQuery(device, sensor.id));
  const marksMs = useMemo(
    () => firingsMs.filter((atMs) => atMs >= (shownFromMs ?? 0) && atMs <= shownToMs),
    [firingsMs, shownFromMs, shownToMs],
  );
  const isEmpty = histories.length > 0 && histories.every((one) => one !== undefined && one.counted.count === 0);
  const hasNumbers = histories.some((one) => one?.points.some(({ value }) => value !== null));
  return (
    <>
      <div className={classes.tools}>
        <SpanPicker span={span} shown={shown} onChange={onChange} />
        {isAddedUp(sensor) && (
          <SegmentedControl
            size="sm"
            aria-label={words.sumsOrValues}
            value={search.as ?? 'sums'}
            onChange={(as) => onChange({ as: as === 'values' ? as : undefined })}
            data={[
              { value: 'sums', label: words.sums },
              { value: 'values', label: words.values },
            ]}
          />
        )}
        <SeriesPicker
          device={device}
          sensor={sensor.id}
          chosen={choices.slice(1).map((one) => ({ place: `${one.device}/${one.sensor}`, label: one.label }))}
          onChange={(places) => onChange({ with: places.length === 0 ? undefined : places })}
        />
        <Downloads
          place={choices[0]}
          series={series}
          histories={histories}
          span={{ ...span, fromMs: shownFromMs }}
          plot={plot}
        />
      </div>
      {error !== undefined && <ProblemNotice error={error} retry={retry} />}
      {main === undefined && error === undefined && <ChartSkeleton height={height + legendHeight} />}
      {isEmpty && <Nothing device={device} hasAny={lastMs !== undefined} onAll={() => onChange({ span: 'all' })} />}
      {main !== undefined && !isEmpty && hasNumbers && (
        <Chart
          series={series}
          height={height}
          fromMs={shownFromMs}
          toMs={shownToMs}
          lines={lines}
          marksMs={marksMs}
          chosen={isEditing ? chosen : undefined}
          choosing={
            isEditing
              ? {
                  onSpan: (fromMs, toMs) => setChosen(wholeSeconds({ fromMs, toMs })),
                  onMoment: (atMs) => setChosen(spanAt(atMs, main.stepMs)),
                }
              : undefined
          }
          onZoom={(from, to) => onChange(zoomTo(from, to))}
          onReset={span.preset === undefined ? back : undefined}
          onPlot={setPlot}
        />
      )}
      {main !== undefined && hasNumbers && <Legend history={main} isEditing={isEditing} />}
      {isEditing && (
        <EditPanel
          {...{ device, sensor, chosen }}
          ruleCount={rules.length}
          shown={shown}
          onChoose={setChosen}
          onClose={() => {
            setChosen(undefined);
            onChange({ edit: undefined });
          }}
        />
      )}
      {future.map((found) => (
        <FutureNotice
          key={found.sensor_id}
          found={found}
          onLook={() => onChange(spanOfFuture(found))}
          onRemove={
            mayEdit
              ? () => {
                  setChosen({ fromMs: Date.parse(found.first), toMs: Date.parse(found.last) });
                  onChange({ ...spanOfFuture(found), edit: true });
                }
              : undefined
          }
        />
      ))}
      {main !== undefined && main.others.length > 0 && <OtherValues points={main.others} hasNumbers={hasNumbers} />}
      <Statistics
        counted={main?.counted}
        unit={sensor.unit}
        calib={sensor.calib}
        isSum={main?.isSum ?? isAddedUp(sensor)}
      />
      <Rules rules={rules} count={marksMs.length} />
    </>
  );
}

/** This sensor and those chosen beside it; of other devices, named with their device. */
function useChoices(device: Device, sensor: Sensor, search: SensorSearch): readonly SensorChoice[] {
  const others = (search.with ?? []).map(splitPlace).filter((one) => one !== undefined);
  const ids = [...new Set(others.map((one) => one.device))].filter((id) => id !== device.id);
  const answers = useQueries({ queries: ids.map((id) => deviceQuery(id)) });
  const known = new Map<string, Device | undefined>(ids.map((id, index) => [id, answers[index]?.data]));
  known.set(device.id, device);
  const unique = others.filter((one) => one.device !== device.id || one.sensor !== sensor.id);
  return [{ device: device.id, sensor: sensor.id }, ...unique].map((one) => {
    const of = known.get(one.device);
    const found = of?.sensors.find(({ id }) => id === one.sensor);
    const name = found?.name || one.sensor;
    // Beside those of other devices its own device is named too.
    const label = one.device === device.id && ids.length === 0 ? name : `${of?.name || one.device} · ${name}`;
    const choice = choiceOf(found ?? { id: one.sensor }, one.device);
    return { ...choice, label, isSum: choice.isSum === true && search.as !== 'values' };
  });
}

/** Most of the screen; what stands around it has its place. */
function useChartHeight(): number {
  const { height: known } = useViewportSize();
  // It is known after the first look only.
  const height = known > 0 ? known : window.innerHeight;
  return Math.round(Math.min(620, Math.max(260, height - 470)));
}

/** A moment; where the chart draws steps, the step around it. */
function spanAt(atMs: number, stepMs = 0): EditedSpan {
  return { fromMs: atMs - stepMs / 2, toMs: atMs + Math.max(0, stepMs / 2 - 1) };
}

function Legend({ history, isEditing }: { readonly history: SensorHistory; readonly isEditing: boolean }) {
  const { sensor } = usePageStrings();
  const { tag } = usePageLocale();
  const hasTouch = useMediaQuery('(pointer: coarse)', undefined, { getInitialValueInEffect: false });
  return (
    <Text fz="xs" c="dimmed" mt={6}>
      {wordsOf(history, sensor, tag)} {hasTouch === true ? sensor.zoomHintTouch : !isEditing && sensor.zoomHint}
    </Text>
  );
}

function wordsOf({ isSum, stepMs }: SensorHistory, words: Strings['sensor'], tag: string): string {
  if (stepMs === undefined) return words.every;
  if (!isSum) return stepMs === dayMs ? words.dayMeans : words.means(durationOf(stepMs, tag));
  return stepMs < dayMs ? words.hourSums : stepMs === dayMs ? words.daySums : words.monthSums;
}

const dayMs = 86_400_000;

interface NothingProps {
  readonly device: Device;
  readonly hasAny: boolean;
  readonly onAll: () => void;
}

function Nothing({ device, hasAny, onAll }: NothingProps) {
  const { sensor } = usePageStrings();
  if (hasAny) {
    return (
      <EmptyState title={sensor.nothingHere}>
        <button type="button" className={classes.link} onClick={onAll}>
          {sensor.showAll}
        </button>
      </EmptyState>
    );
  }
  return (
    <EmptyState title={sensor.nothingYet} words={sensor.nothingYetWords}>
      <Link to="/devices/$device" params={{ device: device.id }} search={{ tab: 'snippets' }} className={classes.link}>
        {sensor.sendFirst}
      </Link>
    </EmptyState>
  );
}

interface RulesProps {
  readonly rules: readonly { readonly id: string; readonly title: string; readonly expression: string }[];
  readonly count: number;
}

function Rules({ rules, count }: RulesProps) {
  const { sensor } = usePageStrings();
  if (rules.length === 0) return null;
  return (
    <section className={classes.rules}>
      <h2 className={classes.heading}>{sensor.rules}</h2>
      <ul>
        {rules.map(({ id, title, expression }) => (
          <li key={id}>
            <Link to="/notifications/$notification" params={{ notification: id }} className={classes.link}>
              {title}
            </Link>{' '}
            {title !== expression && <code>{expression}</code>}
          </li>
        ))}
      </ul>
      <Text fz="sm" c="dimmed">
        {sensor.firings(count)}
      </Text>
    </section>
  );
}
