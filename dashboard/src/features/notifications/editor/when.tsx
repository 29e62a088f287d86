// The first half of the sentence: when, of which devices, for how long; a sensor that falls silent.

import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Fragment, type ReactNode } from 'react';
import type { Device } from '../../../api/client.ts';
import { namedDevicesQuery } from '../../../api/named-devices.ts';
import { DevicePicker } from '../../../shared/device/device-picker.tsx';
import type { Form } from '../../../shared/form/use-form.ts';
import { Icon } from '../../../shared/page/icon.tsx';
import { listed } from '../../../strings/listed.ts';
import { usePageStrings } from '../../../strings/strings.ts';
import { ChoiceBlank, Fault, Line, PopoverBlank, TakeAway, TextBlank } from './blank.tsx';
import { type Clause, type Clauses, operators } from './clauses.ts';
import { type Draft, withClauses } from './draft.ts';
import { DurationBlank } from './duration.tsx';

export interface PartProps {
  readonly form: Form<Draft>;
  readonly faultOf: (field: keyof Draft) => string | undefined;
}

export function When({ form, faultOf }: PartProps) {
  const { notifications } = usePageStrings();
  const { clauses, expression, silenceS } = form.values;
  const { data: devices = [] } = useQuery(namedDevicesQuery(form.values.devices));
  const change = (next: Clauses) => {
    const { clauses: parts, expression: text } = withClauses(next);
    form.set('clauses', parts);
    form.set('expression', text);
  };
  const isSilenceAlone = clauses?.list.length === 0 && silenceS !== undefined;
  return (
    <div>
      {clauses === undefined && (
        <Line>
          {notifications.whenOf} <DevicesBlank form={form} devices={devices} faultOf={faultOf} />
          {notifications.holds} <code>{expression}</code>
        </Line>
      )}
      {isSilenceAlone && (
        <Line>
          {notifications.when} <SilentSensors form={form} devices={devices} /> {notifications.of}
          <DevicesBlank form={form} devices={devices} faultOf={faultOf} />
        </Line>
      )}
      {clauses?.list.map((clause, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a clause is its place in the sentence.
        <Line key={index}>
          {index === 0 ? notifications.when : clauses.join === 'and' ? notifications.and : notifications.or}
          <ClauseBlanks
            clause={clause}
            devices={devices}
            isFirst={index === 0}
            onChange={(next) => change({ ...clauses, list: clauses.list.with(index, next) })}
            of={index === 0 && <DevicesBlank form={form} devices={devices} faultOf={faultOf} />}
          />
          {(clauses.list.length > 1 || silenceS !== undefined) && (
            <TakeAway
              label={notifications.takeClause}
              onClick={() => {
                // The last one leaves its sensor behind, to be watched for its silence.
                if (clauses.list.length === 1) form.set('beside', [...new Set([clause.sensor, ...form.values.beside])]);
                change({ ...clauses, list: clauses.list.toSpliced(index, 1) });
              }}
            />
          )}
        </Line>
      ))}
      <Fault text={faultOf('devices')} />
      <Fault text={clauses === undefined ? undefined : faultOf('expression')} />
      <Spans form={form} faultOf={faultOf} devices={devices} isSilenceAlone={isSilenceAlone} />
      <More form={form} change={change} />
    </div>
  );
}

interface DevicesBlankProps extends PartProps {
  readonly devices: readonly Device[];
}

function DevicesBlank({ form, devices, faultOf }: DevicesBlankProps) {
  const { notifications } = usePageStrings();
  const chosen = form.values.devices;
  const names = chosen.map((id) => devices.find((device) => device.id === id)?.name || id);
  return (
    <PopoverBlank
      label={notifications.devices}
      text={names.length > 2 ? notifications.devicesCount(names.length) : listed(names)}
      placeholder={notifications.chooseDevice}
      isWrong={faultOf('devices') !== undefined}
    >
      <DevicePicker chosen={chosen} onChange={(next) => form.set('devices', next)} />
    </PopoverBlank>
  );
}

interface ClauseBlanksProps {
  readonly clause: Clause;
  readonly devices: readonly Device[];
  readonly isFirst: boolean;
  readonly onChange: (clause: Clause) => void;
  readonly of: ReactNode;
}

function ClauseBlanks({ clause, devices, isFirst, onChange, of }: ClauseBlanksProps) {
  const { notifications } = usePageStrings();
  const { sensor, operator, value, upper } = clause;
  const unit = devices.flatMap(({ sensors }) => sensors).find(({ id }) => id === sensor)?.unit;
  const hasTwo = operator === 'between' || operator === 'outside';
  return (
    <>
      <SensorBlank sensor={sensor} devices={devices} onChange={(chosen) => onChange({ ...clause, sensor: chosen })} />
      {isFirst && notifications.of}
      {of}
      <ChoiceBlank
        label={notifications.comparison}
        value={operator}
        onChange={(chosen) => onChange({ ...clause, operator: chosen })}
        options={operators.map((known) => ({ value: known, label: notifications.operators[known] }))}
      />
      {operator !== 'present' && (
        <TextBlank
          label={notifications.threshold}
          value={value}
          placeholder={notifications.thresholdExample}
          isDecimal
          onChange={(typed) => onChange({ ...clause, value: typed })}
        />
      )}
      {hasTwo && (
        <>
          {notifications.and}
          <TextBlank
            label={notifications.upper}
            value={upper}
            isDecimal
            onChange={(typed) => onChange({ ...clause, upper: typed })}
          />
        </>
      )}
      {operator !== 'present' && unit}
    </>
  );
}

interface SensorBlankProps {
  readonly sensor: string;
  readonly devices: readonly Device[];
  readonly onChange: (sensor: string) => void;
}

function SensorBlank({ sensor, devices, onChange }: SensorBlankProps) {
  const { notifications } = usePageStrings();
  const names = new Map(devices.flatMap(({ sensors }) => sensors.map(({ id, name }) => [id, name || id])));
  if (sensor !== '' && !names.has(sensor)) names.set(sensor, sensor);
  const options = [...names].map(([value, name]) => ({ value, label: name === value ? name : `${name} (${value})` }));
  const nothing = { value: '', label: devices.length === 0 ? notifications.deviceFirst : notifications.chooseSensor };
  return (
    <ChoiceBlank
      label={notifications.sensor}
      value={sensor}
      onChange={onChange}
      options={sensor === '' ? [nothing, ...options] : options}
    />
  );
}

interface SilentSensorsProps {
  readonly form: Form<Draft>;
  readonly devices: readonly Device[];
}

/** The sensors watched for their silence beside those of the conditions. */
function SilentSensors({ form, devices }: SilentSensorsProps) {
  const { notifications } = usePageStrings();
  const { beside } = form.values;
  const shown = beside.length === 0 ? [''] : beside;
  return shown.map((sensor, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a sensor is its place in the sentence.
    <Fragment key={index}>
      {index > 0 && notifications.or}
      <SensorBlank sensor={sensor} devices={devices} onChange={(next) => form.set('beside', shown.with(index, next))} />
      {shown.length > 1 && (
        <TakeAway
          label={notifications.takeSilent(sensor)}
          onClick={() => form.set('beside', shown.toSpliced(index, 1))}
        />
      )}
    </Fragment>
  ));
}

function Spans({ form, faultOf, devices, isSilenceAlone }: DevicesBlankProps & { readonly isSilenceAlone: boolean }) {
  const { notifications } = usePageStrings();
  const { forS, silenceS, beside } = form.values;
  const hasBeside = !isSilenceAlone && beside.length > 0;
  return (
    <>
      {forS !== undefined && (
        <Line>
          {notifications.forAtLeast}
          <DurationBlank
            label={notifications.forLabel}
            seconds={forS}
            isWrong={faultOf('forS') !== undefined}
            onChange={(seconds) => form.set('forS', seconds)}
          />
          <TakeAway label={notifications.takeFor} onClick={() => form.set('forS', undefined)} />
        </Line>
      )}
      <Fault text={faultOf('forS')} />
      {silenceS !== undefined && (
        <Line>
          {hasBeside && (
            <>
              {notifications.orItOr} <SilentSensors form={form} devices={devices} />
            </>
          )}
          {isSilenceAlone || hasBeside ? notifications.hasSentNothing : notifications.orSentNothing}
          <DurationBlank
            label={notifications.silenceLabel}
            seconds={silenceS}
            isWrong={faultOf('silenceS') !== undefined}
            onChange={(seconds) => form.set('silenceS', seconds)}
          />
          {!isSilenceAlone && (
            <TakeAway
              label={notifications.takeSilence}
              onClick={() => {
                form.set('silenceS', undefined);
                form.set('beside', []);
              }}
            />
          )}
        </Line>
      )}
      <Fault text={faultOf('silenceS')} />
    </>
  );
}

/** What the first half may have besides. */
function More({ form, change }: { readonly form: Form<Draft>; readonly change: (clauses: Clauses) => void }) {
  const { notifications } = usePageStrings();
  const { clauses, forS, silenceS, beside } = form.values;
  const blank = { sensor: clauses?.list[0]?.sensor ?? '', operator: '>', value: '', upper: '' } as const;
  const add = (join: 'and' | 'or') => change({ join, list: [...(clauses?.list ?? []), blank] });
  const canJoin = (join: 'and' | 'or') => clauses !== undefined && (clauses.list.length < 2 || clauses.join === join);
  return (
    <Group gap={4} mt={4}>
      {canJoin('and') && <Add label={notifications.addAnd} onClick={() => add('and')} />}
      {canJoin('or') && <Add label={notifications.addOr} onClick={() => add('or')} />}
      {forS === undefined && <Add label={notifications.addFor} onClick={() => form.set('forS', 600)} />}
      {silenceS === undefined && <Add label={notifications.addSilence} onClick={() => form.set('silenceS', 3_600)} />}
      {silenceS !== undefined && !beside.includes('') && (
        <Add label={notifications.addSilent} onClick={() => form.set('beside', [...beside, ''])} />
      )}
    </Group>
  );
}

export function Add({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <Button
      variant="subtle"
      color="gray"
      size="compact-sm"
      fw={400}
      leftSection={<Icon name="plus" size={14} />}
      onClick={onClick}
    >
      {label}
    </Button>
  );
}
