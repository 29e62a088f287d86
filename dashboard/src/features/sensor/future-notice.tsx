// Says under the chart that datapoints of the sensor are dated in the future: spans end now, so none of them shows these.
import { Button, Group } from '@mantine/core';
import type { SensorFuture } from '../../api/future.ts';
import { limits } from '../../limits.ts';
import { type SpanSearch, zoomTo } from '../../shared/chart/span.ts';
import { absoluteTime } from '../../shared/device/age.tsx';
import { Icon } from '../../shared/page/icon.tsx';
import { usePageLocale } from '../../strings/strings.ts';
import classes from './future-notice.module.css';

export interface FutureNoticeProps {
  readonly found: SensorFuture;
  readonly onLook: () => void;
  /** Left out where the user may not. */
  readonly onRemove: (() => void) | undefined;
}

export function FutureNotice({ found: { count, last }, onLook, onRemove }: FutureNoticeProps) {
  const { tag, strings } = usePageLocale();
  const { sensor } = strings;
  return (
    <aside className={classes.notice} aria-label={sensor.futureTitle}>
      <span className={classes.sign}>
        <Icon name="warning" />
      </span>
      <p>
        <strong>{sensor.future(count, absoluteTime(Date.parse(last), tag, strings))}</strong> {sensor.futureWords}
      </p>
      <Group gap="xs">
        <Button variant="default" size="xs" onClick={onLook}>
          {sensor.futureLook}
        </Button>
        {onRemove !== undefined && (
          <Button variant="default" size="xs" onClick={onRemove}>
            {sensor.futureRemove}
          </Button>
        )}
      </Group>
    </aside>
  );
}

/** A span that shows all of them, with some room on both sides. */
export function spanOfFuture({ first, last }: SensorFuture): SpanSearch {
  const [fromMs, toMs] = [Date.parse(first), Date.parse(last)];
  const roomMs = Math.max(limits.futureMsMin, (toMs - fromMs) / 20);
  return zoomTo(fromMs - roomMs, toMs + roomMs);
}
