// The dialog that corrects a sensor by a line through two readings whose true value is known; what it does to the last
// day is drawn while it is typed, raw and corrected together.
import { Group, NumberInput, Stack, Switch, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, call, type Sensor } from '../../api/client.ts';
import { historyQuery } from '../../api/history.ts';
import { keys } from '../../api/query-keys.ts';
import { serverNow } from '../../api/server-time.ts';
import { Chart } from '../../shared/chart/chart.tsx';
import { withGaps } from '../../shared/chart/gaps.ts';
import { type Span, spanOf } from '../../shared/chart/span.ts';
import { decimalsOfPoints } from '../../shared/chart/use-histories.ts';
import { decimalsOf } from '../../shared/device/precision.ts';
import { formatNumber } from '../../shared/device/value.tsx';
import { Dialog } from '../../shared/form/dialog.tsx';
import { FormButtons } from '../../shared/form/form-buttons.tsx';
import { type Form, useForm } from '../../shared/form/use-form.ts';
import { ProblemNotice } from '../../shared/page/problem-notice.tsx';
import { toasts } from '../../shared/page/toasts.tsx';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';

export interface CalibrationProps {
  readonly device: string;
  readonly sensor: Sensor;
  readonly lastMs: number | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function Calibration(props: CalibrationProps) {
  const { sensor } = usePageStrings();
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} size="lg" title={sensor.calibTitle}>
      <Fields {...props} />
    </Dialog>
  );
}

interface Values {
  readonly enabled: boolean;
  readonly lowReads: number | '';
  readonly lowTrue: number | '';
  readonly highReads: number | '';
  readonly highTrue: number | '';
}

const fieldOf: Readonly<Record<string, keyof Values>> = {
  '/linear/value_min/sensor_value': 'lowReads',
  '/linear/value_min/real_value': 'lowTrue',
  '/linear/value_max/sensor_value': 'highReads',
  '/linear/value_max/real_value': 'highTrue',
};

function Fields({ device, sensor: known, lastMs, onClose }: CalibrationProps) {
  const { shared, sensor } = usePageStrings();
  const queries = useQueryClient();
  const { linear } = known.calib ?? {};
  const form = useForm<Values>({
    initial: {
      enabled: linear?.enabled ?? true,
      lowReads: linear?.value_min?.sensor_value ?? 0,
      lowTrue: linear?.value_min?.real_value ?? 0,
      highReads: linear?.value_max?.sensor_value ?? 100,
      highTrue: linear?.value_max?.real_value ?? 100,
    },
    check: (values) => {
      const missing = Object.entries(values).filter(([, value]) => value === '');
      if (missing.length > 0) return Object.fromEntries(missing.map(([name]) => [name, sensor.calibNumber]));
      return values.lowReads === values.highReads ? { highReads: sensor.calibApart } : {};
    },
    fieldOf: (pointer) => fieldOf[pointer],
    submit: async ({ enabled, lowReads, lowTrue, highReads, highTrue }) => {
      const body = {
        linear: {
          enabled,
          value_min: { sensor_value: Number(lowReads), real_value: Number(lowTrue) },
          value_max: { sensor_value: Number(highReads), real_value: Number(highTrue) },
        },
      };
      const params = { path: { device, sensor: known.id } };
      await call(api.PUT('/api/v2/devices/{device}/sensors/{sensor}/calib', { params, body }));
      onClose();
      // Said once it is to be seen.
      await queries.invalidateQueries({ queryKey: keys.device(device) });
      toasts.show({ text: shared.saved });
    },
  });
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        <Text c="dimmed" fz="sm">
          {sensor.calibWords}
        </Text>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <Group grow align="flex-start">
          <NumberInput
            data-autofocus
            label={shared.labelled(sensor.calibLow, sensor.calibReads)}
            {...numberField(form, 'lowReads')}
          />
          <NumberInput label={shared.labelled(sensor.calibLow, sensor.calibTrue)} {...numberField(form, 'lowTrue')} />
        </Group>
        <Group grow align="flex-start">
          <NumberInput
            label={shared.labelled(sensor.calibHigh, sensor.calibReads)}
            {...numberField(form, 'highReads')}
          />
          <NumberInput label={shared.labelled(sensor.calibHigh, sensor.calibTrue)} {...numberField(form, 'highTrue')} />
        </Group>
        <Switch
          label={sensor.calibOn}
          checked={form.values.enabled}
          onChange={(event) => form.set('enabled', event.currentTarget.checked)}
        />
        <Preview device={device} sensor={known} lastMs={lastMs} values={form.values} />
        <FormButtons submit={shared.save} isSending={form.isSending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

function numberField(form: Form<Values>, name: Exclude<keyof Values, 'enabled'>) {
  return {
    value: form.values[name],
    onChange: (value: string | number) => form.set(name, value === '' || value === '-' ? '' : Number(value)),
    onBlur: form.field(name).onBlur,
    error: form.errorOf(name),
  };
}

interface PreviewProps {
  readonly device: string;
  readonly sensor: Sensor;
  readonly lastMs: number | undefined;
  readonly values: Values;
}

function Preview({ device, sensor, lastMs, values }: PreviewProps) {
  const { tag, strings } = usePageLocale();
  const words = strings.sensor;
  const span = useMemo((): Span => spanOf({}, { nowMs: serverNow(), lastMs }), [lastMs]);
  const { data } = useQuery(
    historyQuery({ device, sensor: sensor.id, fromMs: span.fromMs, toMs: span.toMs, isRaw: true }),
  );
  const { enabled, lowReads, lowTrue, highReads, highTrue } = values;
  const series = useMemo(() => {
    const correct = correction({ enabled, lowReads, lowTrue, highReads, highTrue });
    const raw = withGaps(
      (data?.points ?? []).map(({ atMs, value }) => ({ atMs, value })),
      data,
    );
    const calib = calibOf({ enabled, lowReads, lowTrue, highReads, highTrue });
    const corrected = raw.map(({ atMs, value }) => ({ atMs, value: value === null ? null : correct(value) }));
    return [
      {
        id: 'raw',
        label: words.calibRaw,
        unit: sensor.unit,
        points: raw,
        colour: 8,
        isDashed: true,
        decimals: decimalsOfPoints(raw, undefined),
      },
      {
        id: 'corrected',
        label: words.calibCorrected,
        unit: sensor.unit,
        points: corrected,
        colour: 1,
        decimals: decimalsOfPoints(corrected, calib),
      },
    ];
  }, [data, enabled, lowReads, lowTrue, highReads, highTrue, sensor.unit, words]);
  const last = series[0]?.points.findLast(({ value }) => value !== null)?.value;
  const corrected = series[1]?.points.findLast(({ value }) => value !== null)?.value;
  const write = (value: number, decimals?: number) =>
    `${formatNumber(value, tag, decimals)} ${sensor.unit ?? ''}`.trim();
  return (
    <div>
      <Chart series={series} height={200} />
      {typeof last === 'number' && typeof corrected === 'number' && (
        <Text fz="sm" c="dimmed" role="status">
          {words.calibExample(write(last), write(corrected, decimalsOf(corrected, calibOf(values))))}
        </Text>
      )}
    </div>
  );
}

/** What would be stored, as far as it is typed. */
function calibOf({ enabled, lowReads, lowTrue, highReads, highTrue }: Values) {
  return {
    linear: {
      enabled: enabled && ![lowReads, lowTrue, highReads, highTrue].includes(''),
      value_min: { sensor_value: Number(lowReads), real_value: Number(lowTrue) },
      value_max: { sensor_value: Number(highReads), real_value: Number(highTrue) },
    },
  };
}

/** What the server does on reading, for what is typed. */
function correction({ enabled, lowReads, lowTrue, highReads, highTrue }: Values): (value: number) => number {
  const points = [lowReads, lowTrue, highReads, highTrue];
  if (!enabled || points.includes('') || lowReads === highReads) return (value) => value;
  const slope = (Number(highTrue) - Number(lowTrue)) / (Number(highReads) - Number(lowReads));
  return (value) => Number(lowTrue) + (value - Number(lowReads)) * slope;
}
