// Presets of a chart's span; after zooming, the way back.
import { Button, SegmentedControl } from '@mantine/core';
import { useStrings } from '../../strings/strings.ts';
import { type Preset, presets, type Span, type SpanSearch } from './span.ts';
import classes from './span-picker.module.css';

export interface SpanPickerProps {
  readonly span: Span;
  readonly onChange: (changed: SpanSearch) => void;
  /** Of all presets, those to offer. */
  readonly offered?: readonly Preset[];
}

export function SpanPicker({ span, onChange, offered = presets }: SpanPickerProps) {
  const { shared } = useStrings();
  const labels: Readonly<Record<Preset, string>> = {
    '1h': shared.span1h,
    '24h': shared.span24h,
    '7d': shared.span7d,
    '30d': shared.span30d,
    '1y': shared.span1y,
    all: shared.spanAll,
  };
  return (
    <div className={classes.picker}>
      <SegmentedControl
        size="sm"
        aria-label={shared.span}
        value={span.preset ?? ''}
        onChange={(value) => onChange({ span: value as Preset, from: undefined, to: undefined })}
        data={offered.map((value) => ({ value, label: labels[value] }))}
      />
      {span.preset === undefined && (
        <Button variant="subtle" size="compact-sm" onClick={() => onChange({ from: undefined, to: undefined })}>
          {shared.zoomBack}
        </Button>
      )}
    </div>
  );
}
