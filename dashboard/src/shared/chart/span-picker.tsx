// The span of a chart: presets, the same length earlier or later, from when to when, and after zooming the step back.
import { ActionIcon, Button, Popover, SegmentedControl, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { usePageLocale, usePageStrings } from '../../strings/strings.ts';
import { localText } from '../device/local-time.ts';
import { Icon } from '../page/icon.tsx';
import { moveSpan, type Preset, presets, type Span, type SpanSearch, zoomTo } from './span.ts';
import classes from './span-picker.module.css';
import { useSpanBack } from './span-steps.ts';

export interface SpanPickerProps {
  readonly span: Span;
  /** What is shown of it; undefined until that is known. */
  readonly shown: { readonly fromMs: number; readonly toMs: number } | undefined;
  readonly onChange: (changed: SpanSearch) => void;
}

export function SpanPicker({ span, shown, onChange }: SpanPickerProps) {
  const { shared } = usePageStrings();
  const back = useSpanBack(() => onChange({ from: undefined, to: undefined }));
  const labels: Readonly<Record<Preset, string>> = {
    '1h': shared.span1h,
    '24h': shared.span24h,
    '7d': shared.span7d,
    '30d': shared.span30d,
    '1y': shared.span1y,
    all: shared.spanAll,
  };
  const move = (by: -1 | 1) => shown !== undefined && onChange(moveSpan(shown, by));
  return (
    <div className={classes.picker}>
      <SegmentedControl
        size="sm"
        className={classes.presets ?? ''}
        aria-label={shared.span}
        value={span.preset ?? ''}
        onChange={(value) => onChange({ span: value as Preset, from: undefined, to: undefined })}
        data={presets.map((value) => ({ value, label: labels[value] }))}
      />
      <div className={classes.move}>
        <ActionIcon
          variant="default"
          size={36}
          aria-label={shared.earlier}
          title={shared.earlier}
          onClick={() => move(-1)}
        >
          <Icon name="back" />
        </ActionIcon>
        <FromTo span={span} shown={shown} onChange={onChange} />
        <ActionIcon variant="default" size={36} aria-label={shared.later} title={shared.later} onClick={() => move(1)}>
          <Icon name="forward" />
        </ActionIcon>
      </div>
      {span.preset === undefined && (
        <Button variant="subtle" size="compact-sm" onClick={back}>
          {shared.zoomBack}
        </Button>
      )}
    </div>
  );
}

/** Two fields behind a button that says what they hold. */
function FromTo({ span, shown, onChange }: SpanPickerProps) {
  const { tag, strings } = usePageLocale();
  const { shared } = strings;
  const [isOpen, { close, toggle }] = useDisclosure(false);
  const isZoomed = span.preset === undefined && span.fromMs !== undefined;
  const said = isZoomed ? rangeText(span.fromMs ?? 0, span.toMs, tag) : shared.fromTo;
  return (
    <Popover opened={isOpen} onChange={close} trapFocus position="bottom-start" shadow="md" withinPortal>
      <Popover.Target>
        <Button
          variant="default"
          size="sm"
          px={10}
          className={classes.fromTo ?? ''}
          aria-label={isZoomed ? shared.labelled(shared.fromTo, said) : undefined}
          onClick={toggle}
        >
          {said}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Fields
          shown={shown}
          onChange={(changed) => {
            close();
            onChange(changed);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function Fields({ shown, onChange }: Pick<SpanPickerProps, 'shown' | 'onChange'>) {
  const { shared, datapoints } = usePageStrings();
  const minutes = (ms: number | undefined) => (ms === undefined ? '' : localText(ms).slice(0, 16));
  const [from, setFrom] = useState(minutes(shown?.fromMs));
  const [to, setTo] = useState(minutes(shown?.toMs));
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const isSpan = fromMs < toMs;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isSpan) onChange(zoomTo(fromMs, toMs));
      }}
    >
      <Stack gap="sm">
        <TextInput
          type="datetime-local"
          data-autofocus
          label={datapoints.from}
          value={from}
          onChange={(event) => setFrom(event.currentTarget.value)}
        />
        <TextInput
          type="datetime-local"
          label={datapoints.to}
          value={to}
          error={fromMs >= toMs ? datapoints.upside : undefined}
          onChange={(event) => setTo(event.currentTarget.value)}
        />
        <Button type="submit" disabled={!isSpan}>
          {shared.showSpan}
        </Button>
      </Stack>
    </form>
  );
}

const dayMs = 86_400_000;

/** Days where it is of days, times as well where it is shorter. */
function rangeText(fromMs: number, toMs: number, tag: string): string {
  const isMidnight = (ms: number) => localText(ms).endsWith('T00:00:00');
  const format = new Intl.DateTimeFormat(
    tag,
    toMs - fromMs > 4 * dayMs || (isMidnight(fromMs) && isMidnight(toMs))
      ? { day: 'numeric', month: 'short', year: 'numeric' }
      : { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' },
  );
  return format.formatRange(fromMs, toMs);
}
