// The dialog that gives one stored value another: a number stays a number, whatever else may become any JSON.
import { Stack, Text, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { Datapoint, Sensor } from '../../../api/client.ts';
import { afterEdit, correctPoint, type SensorPlace } from '../../../api/datapoint-edits.ts';
import { timeOfPoint } from '../../../api/devices.ts';
import { limits } from '../../../limits.ts';
import { absoluteTime } from '../../../shared/device/age.tsx';
import { formatValue } from '../../../shared/device/value.tsx';
import { Dialog } from '../../../shared/form/dialog.tsx';
import { FormButtons } from '../../../shared/form/form-buttons.tsx';
import { useForm } from '../../../shared/form/use-form.ts';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import { usePageLocale, usePageStrings } from '../../../strings/strings.ts';

export interface CorrectValueProps {
  readonly place: SensorPlace;
  readonly sensor: Sensor;
  readonly ruleCount: number;
  readonly point: Datapoint;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function CorrectValue(props: CorrectValueProps) {
  const { datapoints: words } = usePageStrings();
  return (
    <Dialog opened={props.isOpen} onClose={props.onClose} title={words.correctTitle}>
      {/* Inside, so that each opening begins anew. */}
      <Fields {...props} />
    </Dialog>
  );
}

function Fields({ place, sensor, ruleCount, point, onClose }: CorrectValueProps) {
  const { tag, strings } = usePageLocale();
  const { datapoints: words } = strings;
  const queries = useQueryClient();
  const isNumber = typeof point.value === 'number';
  const form = useForm({
    initial: { value: textOf(point.value), reason: '' },
    check: ({ value, reason }) => {
      const parsed = isNumber ? numberIn(value) : jsonIn(value);
      const isSame = JSON.stringify(parsed) === JSON.stringify(point.value);
      const fault = parsed === undefined ? words.correctNumber : isSame ? words.correctSame : undefined;
      return {
        ...(fault === undefined ? {} : { value: fault }),
        ...(reason.trim() === '' ? { reason: words.reasonNeeded } : {}),
      };
    },
    submit: async ({ value, reason }) => {
      const right = isNumber ? numberIn(value) : jsonIn(value);
      await correctPoint(place, point, { value: right, reason: reason.trim() });
      onClose();
      // Said once it is to be seen.
      await afterEdit(queries, place);
      toasts.show({ text: words.corrected });
    },
  });
  const now = `${formatValue(point.value, tag)} ${sensor.unit ?? ''}`.trim();
  return (
    <form onSubmit={form.onSubmit} noValidate>
      <Stack gap="md">
        <Text>{words.correctNow(now, absoluteTime(timeOfPoint(point), tag, strings))}</Text>
        {form.problem !== undefined && <ProblemNotice error={form.problem} />}
        <TextInput
          data-autofocus
          label={words.correctTo}
          {...(isNumber ? { inputMode: 'decimal' as const } : { description: words.correctJson })}
          rightSection={
            sensor.unit !== undefined && sensor.unit.length <= 6 ? <Text c="dimmed">{sensor.unit}</Text> : null
          }
          rightSectionWidth={64}
          rightSectionPointerEvents="none"
          {...form.field('value')}
        />
        <TextInput
          label={words.reason}
          description={words.reasonMeans}
          placeholder={words.reasonExample}
          maxLength={limits.reasonCharsMax}
          {...form.field('reason')}
        />
        <Text fz="sm" c="dimmed">
          {words.correctForGood} {ruleCount > 0 && words.rulesCorrected(ruleCount)}
        </Text>
        <FormButtons submit={words.correctAct} isSending={form.isSending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A number as people write it, with a point or a comma; undefined where it is none. */
function numberIn(typed: string): number | undefined {
  const text = typed.trim().replace(',', '.');
  const number = Number(text);
  return text === '' || !Number.isFinite(number) ? undefined : number;
}

/** JSON, and whatever is none as a text. */
function jsonIn(typed: string): unknown {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}
