// From when to when, in the time of the browser: what is chosen on the chart stands here, and can be typed instead.
import { Button, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { EditedSpan } from '../../../api/datapoint-edits.ts';
import { localText } from '../../../shared/device/local-time.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import classes from './edit.module.css';

export interface SpanFieldsProps {
  readonly chosen: EditedSpan | undefined;
  readonly shown: EditedSpan | undefined;
  readonly onChoose: (span: EditedSpan | undefined) => void;
}

export function SpanFields({ chosen, shown, onChoose }: SpanFieldsProps) {
  const { datapoints: words } = usePageStrings();
  const [typed, setTyped] = useState(() => textsOf(chosen));
  const spanText = JSON.stringify(chosen);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `spanText` stands for the span.
  useEffect(() => {
    // What is half typed stays, and so does what says the same in other words: a field that is written to loses its place.
    if (chosen !== undefined && JSON.stringify(spanOf(typed)) !== spanText) setTyped(textsOf(chosen));
  }, [spanText]);
  const isUpsideDown = Date.parse(typed.from) > Date.parse(typed.to);
  const change = (next: Typed) => {
    setTyped(next);
    onChoose(spanOf(next));
  };
  return (
    <div className={classes.span}>
      <TextInput
        type="datetime-local"
        step={1}
        label={words.from}
        value={typed.from}
        onChange={(event) => change({ ...typed, from: event.currentTarget.value })}
      />
      <TextInput
        type="datetime-local"
        step={1}
        label={words.to}
        value={typed.to}
        error={isUpsideDown ? words.upside : undefined}
        onChange={(event) => change({ ...typed, to: event.currentTarget.value })}
      />
      {shown !== undefined && (
        <Button variant="subtle" size="compact-sm" onClick={() => onChoose(wholeSeconds(shown))}>
          {words.shown}
        </Button>
      )}
    </div>
  );
}

interface Typed {
  readonly from: string;
  readonly to: string;
}

/** A field has whole seconds: the last one is meant to its end. Undefined where the two are no span. */
function spanOf({ from, to }: Typed): EditedSpan | undefined {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  return fromMs <= toMs ? { fromMs, toMs: endOfSecond(toMs) } : undefined;
}

/** The span in whole seconds, as the fields say it; both ends belong to it. */
export function wholeSeconds({ fromMs, toMs }: EditedSpan): EditedSpan {
  return { fromMs: Math.floor(fromMs / 1000) * 1000, toMs: endOfSecond(toMs) };
}

function endOfSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000 + 999;
}

function textsOf(span: EditedSpan | undefined): Typed {
  return span === undefined ? { from: '', to: '' } : { from: localText(span.fromMs), to: localText(span.toMs) };
}
