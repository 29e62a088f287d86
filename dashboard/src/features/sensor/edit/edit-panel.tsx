// Under the chart of a sensor: which of its stored values are meant (chosen on the chart, or from when to when), how many
// there are, each of the first ones with what can be done with it, and deleting all of them.
import { Button, Group, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Device, Sensor } from '../../../api/client.ts';
import { type EditedSpan, editableQuery, type PointChoice } from '../../../api/datapoint-edits.ts';
import { Icon } from '../../../shared/page/icon.tsx';
import { ProblemNotice } from '../../../shared/page/problem-notice.tsx';
import { Section } from '../../../shared/page/section.tsx';
import { usePageStrings } from '../../../strings/strings.ts';
import { CorrectValue } from './correct-value.tsx';
import classes from './edit.module.css';
import { RemoveValues } from './remove-values.tsx';
import { SpanFields } from './span-fields.tsx';
import { ValuesTable } from './values-table.tsx';

export interface EditPanelProps {
  readonly device: Device;
  readonly sensor: Sensor;
  /** Notifications on the sensor that the user sees. */
  readonly ruleCount: number;
  readonly chosen: EditedSpan | undefined;
  /** What the chart shows. */
  readonly shown: EditedSpan | undefined;
  readonly onChoose: (span: EditedSpan | undefined) => void;
  readonly onClose: () => void;
}

/** What a dialog is open for, as it was when it was opened. */
type Act =
  | { readonly kind: 'span'; readonly span: EditedSpan; readonly count: number }
  | { readonly kind: 'remove' | 'correct'; readonly choice: PointChoice };

const nothing: EditedSpan = { fromMs: 0, toMs: 0 };

export function EditPanel({ device, sensor, ruleCount, chosen, shown, onChoose, onClose }: EditPanelProps) {
  const { datapoints: words } = usePageStrings();
  const hasTouch = useMediaQuery('(pointer: coarse)', undefined, { getInitialValueInEffect: false });
  const place = { device: device.id, sensor: sensor.id };
  const { data, error, isPlaceholderData } = useQuery({
    ...editableQuery(place, chosen ?? nothing),
    enabled: chosen !== undefined,
    placeholderData: keepPreviousData,
  });
  // What was asked stays in the dialog while it closes.
  const [act, setAct] = useState<Act>();
  const [isOpen, setOpen] = useState(false);
  const open = (next: Act) => {
    setAct(next);
    setOpen(true);
  };
  const close = () => setOpen(false);
  const found = chosen === undefined ? undefined : data;
  return (
    <div className={classes.panel}>
      <Section
        title={words.title}
        words={hasTouch === true ? words.wordsTouch : words.words}
        actions={
          <Button variant="default" size="xs" onClick={onClose}>
            {words.done}
          </Button>
        }
      >
        <SpanFields chosen={chosen} shown={shown} onChoose={onChoose} />
        {error !== null && <ProblemNotice error={error} />}
        {found !== undefined && (
          <Group justify="space-between" my="sm" gap="sm">
            <Text fw={600} role="status">
              {found.count === 0 ? words.nothing : words.here(found.count)}
            </Text>
            {found.count > 0 && (
              <Button
                color="red"
                size="sm"
                disabled={isPlaceholderData}
                leftSection={<Icon name="trash" size={16} />}
                onClick={() => open({ kind: 'span', span: chosen ?? nothing, count: found.count })}
              >
                {words.removeAll(found.count)}
              </Button>
            )}
          </Group>
        )}
        {found !== undefined && found.count > 0 && (
          <ValuesTable
            sensor={sensor}
            points={found.points}
            count={found.count}
            onAct={(kind, choice) => open({ kind, choice })}
          />
        )}
        {act !== undefined && act.kind !== 'correct' && (
          <RemoveValues
            {...{ place, sensor, ruleCount, isOpen }}
            what={act.kind === 'span' ? act : act.choice}
            onClose={close}
          />
        )}
        {act?.kind === 'correct' && (
          <CorrectValue {...{ place, sensor, ruleCount, isOpen }} point={act.choice.point} onClose={close} />
        )}
      </Section>
    </div>
  );
}
