// Sets an actuator, by the type of its value (of the one it is meant to have before the first): a switch for what is on or off, a slider where its `meta` names `min` and `max`, fields for numbers,
// texts and JSON. Shown as set at once; taken back where the server refuses.
import { Button, Group, NumberInput, Slider, Switch, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { api, call, type Device } from '../../../api/client.ts';
import { useDeviceChange } from '../../../shared/device/use-device-change.ts';
import { formatValue } from '../../../shared/device/value.tsx';
import { usePageLocale, usePageStrings } from '../../../strings/strings.ts';

type Actuator = Device['actuators'][number];

export interface ActuatorControlProps {
  readonly device: string;
  readonly actuator: Actuator;
}

export function ActuatorControl({ device, actuator }: ActuatorControlProps) {
  const { device: words } = usePageStrings();
  const { tag } = usePageLocale();
  const change = useDeviceChange(device);
  const { id, value } = actuator;
  const label = actuator.name || id;
  const set = (next: unknown) => {
    const params = { path: { device, actuator: id } };
    void change({
      change: (known) => ({
        ...known,
        actuators: known.actuators.map((one) => (one.id === id ? { ...one, value: next } : one)),
      }),
      send: () => call(api.PUT('/api/v2/devices/{device}/actuators/{actuator}/value', { params, body: next as never })),
      said: words.setDone(label, typeof next === 'boolean' ? (next ? words.on : words.off) : formatValue(next, tag)),
    });
  };
  const type = value === undefined ? (actuator.value_type ?? actuator.actuator_value_type) : typeOf(value);
  if (type === 'bool') {
    return (
      <Switch
        size="lg"
        aria-label={label}
        label={value === true ? words.on : words.off}
        checked={value === true}
        onChange={(event) => set(event.currentTarget.checked)}
      />
    );
  }
  if (type === 'number') return <NumberControl label={label} actuator={actuator} onSet={set} />;
  return <TextControl key={type} label={label} value={value} isJson={type !== 'string'} onSet={set} />;
}

function typeOf(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'number' || typeof value === 'string' ? typeof value : 'object';
}

interface NumberControlProps {
  readonly label: string;
  readonly actuator: Actuator;
  readonly onSet: (value: number) => void;
}

function NumberControl({ label, actuator: { value, meta }, onSet }: NumberControlProps) {
  const { device: words } = usePageStrings();
  const known = typeof value === 'number' ? value : '';
  const [typed, setTyped] = useState<number | ''>(known);
  // Somebody else may set it meanwhile.
  useEffect(() => setTyped(known), [known]);
  const { min, max } = (meta ?? {}) as { readonly min?: unknown; readonly max?: unknown };
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (typed !== '') onSet(typed);
  };
  return (
    <form onSubmit={send}>
      {typeof min === 'number' && typeof max === 'number' && min < max && (
        <Slider
          mb="sm"
          thumbLabel={label}
          min={min}
          max={max}
          step={(max - min) / 100}
          value={typed === '' ? min : typed}
          onChange={setTyped}
          onChangeEnd={onSet}
        />
      )}
      <Group gap="xs" wrap="nowrap">
        <NumberInput
          flex={1}
          aria-label={label}
          value={typed}
          onChange={(next) => setTyped(next === '' ? '' : Number(next))}
        />
        <Button type="submit" variant="default" disabled={typed === ''}>
          {words.set}
        </Button>
      </Group>
    </form>
  );
}

interface TextControlProps {
  readonly label: string;
  readonly value: unknown;
  readonly isJson: boolean;
  readonly onSet: (value: unknown) => void;
}

function TextControl({ label, value, isJson, onSet }: TextControlProps) {
  const { device: words } = usePageStrings();
  const known = isJson ? JSON.stringify(value ?? null, null, 1) : typeof value === 'string' ? value : '';
  const [typed, setTyped] = useState(known);
  const [isWrong, setWrong] = useState(false);
  useEffect(() => setTyped(known), [known]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    try {
      onSet(isJson ? JSON.parse(typed) : typed);
      setWrong(false);
    } catch {
      setWrong(true);
    }
  };
  const field = {
    'aria-label': label,
    value: typed,
    error: isWrong ? words.jsonWrong : undefined,
    spellCheck: false,
  };
  return (
    <form onSubmit={send}>
      <Group gap="xs" wrap="nowrap" align="flex-start">
        {isJson ? (
          <Textarea
            flex={1}
            autosize
            maxRows={8}
            {...field}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        ) : (
          <TextInput flex={1} {...field} onChange={(event) => setTyped(event.currentTarget.value)} />
        )}
        <Button type="submit" variant="default">
          {words.set}
        </Button>
      </Group>
    </form>
  );
}
