// Beside the editor: how many messages the rule would have sent over the last days, when on a chart of its sensors, and
// what they would have said.
import { Loader, SegmentedControl, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiProblem } from '../../../api/api-problem.ts';
import { courseQuery } from '../../../api/courses.ts';
import { namedDevicesQuery } from '../../../api/named-devices.ts';
import { limits } from '../../../limits.ts';
import { Chart, ChartSkeleton } from '../../../shared/chart/chart.tsx';
import type { ChartLine, ChartSeries } from '../../../shared/chart/chart-series.ts';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { usePageLocale, usePageStrings } from '../../../strings/strings.ts';
import type { Operator } from './clauses.ts';
import { type Draft, sensorsOf } from './draft.ts';
import classes from './editor.module.css';
import { type ReplayReport, type ReplayState, replaySpans } from './use-replay.ts';

const height = 240;

interface ReplayProps {
  readonly draft: Draft;
  readonly replay: ReplayState;
}

export function Replay({ draft, replay }: ReplayProps) {
  const { notifications } = usePageStrings();
  const { report, error, days, setDays } = replay;
  const isRecorded = draft.kind === 'message' && draft.channels.every((channel) => channel === 'none');
  const isPlaced = error instanceof ApiProblem && error.faults.length > 0;
  return (
    <section className={classes.replay} aria-label={notifications.replay}>
      <SegmentedControl
        size="xs"
        aria-label={notifications.replaySpan}
        value={String(days)}
        onChange={(chosen) => setDays(Number(chosen))}
        data={replaySpans.map((span) => ({ value: String(span), label: notifications.days(span) }))}
      />
      <div aria-live="polite">
        <Text mt="md" c="dimmed">
          {isRecorded ? notifications.overTheLastRecorded(days) : notifications.overTheLast(days)}{' '}
          {replay.isRunning && <Loader size={12} />}
        </Text>
        {report === undefined ? (
          <Text mt={4}>{isPlaced ? notifications.replayWrong : notifications.replayEmpty}</Text>
        ) : (
          <Count draft={draft} report={report} />
        )}
      </div>
      {error !== null && !isPlaced && <ProblemNotice error={error} />}
      {replay.isReady && <Course draft={draft} replay={replay} />}
      {report !== undefined && <Said report={report} />}
    </section>
  );
}

function Count({ draft, report }: { readonly draft: Draft; readonly report: ReplayReport }) {
  const { notifications } = usePageStrings();
  const ways = draft.kind === 'actuation' ? 1 : Math.max(1, draft.usernames.length * draft.channels.length);
  const count = report.firings.length * ways;
  return (
    <>
      <div className={classes.count}>
        {draft.kind === 'message' ? notifications.messages(count) : notifications.settings(count)}
      </div>
      {ways > 1 && report.firings.length > 0 && (
        <Text fz="sm" c="dimmed">
          {notifications.firings(report.firings.length)}
        </Text>
      )}
      {report.datapoints === 0 && <Text fz="sm">{notifications.replayNothing}</Text>}
      {!report.complete && <Text fz="sm">{notifications.replayCut}</Text>}
    </>
  );
}

function Course({ draft, replay }: ReplayProps) {
  const { notifications } = usePageStrings();
  const { fromMs, days, report } = replay;
  const devices = draft.devices.slice(0, limits.replayDevicesMax);
  const sensors = sensorsOf(draft);
  const { data: named = [] } = useQuery(namedDevicesQuery(devices));
  const known = named.filter(({ id }) => devices.includes(id)).map(({ id }) => id);
  const toMs = fromMs + days * 86_400_000;
  const span = { fromMs, toMs: toMs + limits.futureMsMin };
  const { data: courses = [], isLoading } = useQuery(courseQuery({ devices: known, sensors, ...span }));
  const series = courses.slice(0, limits.chartSeriesMax).map((course): ChartSeries => {
    const device = named.find(({ id }) => id === course.device);
    const sensor = device?.sensors.find(({ id }) => id === course.sensor);
    const of = devices.length > 1 ? ` · ${device?.name || course.device}` : '';
    const label = `${sensor?.name || course.sensor}${of}`;
    return { id: `${course.device}/${course.sensor}`, label, unit: sensor?.unit, points: course.points };
  });
  if (series.length === 0) return isLoading ? <ChartSkeleton height={height} /> : null;
  return (
    <Chart
      series={series}
      height={height}
      fromMs={fromMs}
      toMs={toMs}
      lines={linesOf(draft, courses[0]?.sensor, notifications.operators)}
      marksMs={(report?.firings ?? [])
        .filter(({ kind }) => kind === 'fires')
        .map(({ timestamp }) => Date.parse(timestamp))}
    />
  );
}

/** The thresholds of the sensor by whose scale lines are drawn. */
function linesOf(
  { clauses }: Draft,
  sensor: string | undefined,
  operators: Readonly<Record<Operator, string>>,
): ChartLine[] {
  return (clauses?.list ?? [])
    .filter((clause) => clause.sensor === sensor && clause.operator !== 'present')
    .flatMap(({ operator, value, upper }) =>
      [value, upper].map((typed) => ({ operator, typed: typed.trim().replace(',', '.') })),
    )
    .filter(({ typed }) => typed !== '' && Number.isFinite(Number(typed)))
    .map(({ operator, typed }) => ({ value: Number(typed), label: `${operators[operator]} ${typed}` }));
}

function Said({ report }: { readonly report: ReplayReport }) {
  const { shared, notifications } = usePageStrings();
  const { tag } = usePageLocale();
  const shown = report.firings.slice(-limits.replayMessagesMax).toReversed();
  if (shown.length === 0) return null;
  return (
    <ul className={classes.said} aria-label={notifications.said}>
      {shown.map(({ timestamp, kind, message, actuation, device_id, sensor_id }) => (
        <li key={`${timestamp} ${kind} ${device_id} ${sensor_id}`}>
          <span className="d-quiet">
            {new Date(timestamp).toLocaleString(tag, { dateStyle: 'short', timeStyle: 'short' })}
          </span>
          <span>{message ?? JSON.stringify(actuation)}</span>
        </li>
      ))}
      {report.firings.length > shown.length && <li>{shared.more(report.firings.length - shown.length)}</li>}
    </ul>
  );
}
