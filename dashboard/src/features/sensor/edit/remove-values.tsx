// Asks before stored values are deleted: how many, of when, what it does to notifications, and why.
import { useQueryClient } from '@tanstack/react-query';
import type { Sensor } from '../../../api/client.ts';
import {
  afterEdit,
  type EditedSpan,
  type PointChoice,
  removePoint,
  removeSpan,
  type SensorPlace,
} from '../../../api/datapoint-edits.ts';
import { timeOfPoint } from '../../../api/devices.ts';
import { limits } from '../../../limits.ts';
import { absoluteTime } from '../../../shared/device/age.tsx';
import { formatValue } from '../../../shared/device/value.tsx';
import { ConfirmDanger } from '../../../shared/form/confirm-danger.tsx';
import { toasts } from '../../../shared/page/toasts.tsx';
import { usePageLocale } from '../../../strings/strings.ts';

export interface RemoveValuesProps {
  readonly place: SensorPlace;
  readonly sensor: Sensor;
  readonly ruleCount: number;
  /** A span with how many it has, or one datapoint with what is like it in time and value. */
  readonly what: PointChoice | { readonly span: EditedSpan; readonly count: number };
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function RemoveValues({ place, sensor, ruleCount, what, isOpen, onClose }: RemoveValuesProps) {
  const { tag, strings } = usePageLocale();
  const { datapoints: words } = strings;
  const queries = useQueryClient();
  const name = sensor.name || sensor.id;
  const count = 'span' in what ? what.count : what.alike;
  const time = (ms: number) => absoluteTime(ms, tag, strings);
  const remove = async (reason: string) => {
    const removed = await ('span' in what ? removeSpan(place, what.span, reason) : removePoint(place, what, reason));
    // Said once it is to be seen.
    await afterEdit(queries, place);
    toasts.show({ text: words.removed(removed) });
  };
  return (
    <ConfirmDanger
      isOpen={isOpen}
      onClose={onClose}
      title={words.removeTitle(count)}
      words={
        'span' in what
          ? words.removeOf(name, time(what.span.fromMs), time(what.span.toMs))
          : words.removeAt(
              name,
              `${formatValue(what.point.value, tag)} ${sensor.unit ?? ''}`.trim(),
              time(timeOfPoint(what.point)),
            )
      }
      notes={[words.forGood, ruleCount === 0 ? words.noRules : words.rules(ruleCount)]}
      asks={{
        ...{ label: words.reason, description: words.reasonMeans, placeholder: words.reasonExample },
        ...{ missing: words.reasonNeeded, maxLength: limits.reasonCharsMax },
      }}
      typedId={count > limits.dangerousDatapointsMax ? sensor.id : undefined}
      action={words.removeAct}
      onConfirm={remove}
    />
  );
}
