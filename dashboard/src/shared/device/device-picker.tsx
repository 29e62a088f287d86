// Chooses devices by name or id: those chosen as chips that go at a press, and beneath a search those that could be.
import { Checkbox, Group, Pill, ScrollArea, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { foundDevicesQuery, namedDevicesQuery } from '../../api/named-devices.ts';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';

export interface DevicePickerProps {
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function DevicePicker({ chosen, onChange }: DevicePickerProps) {
  const { shared } = useStrings();
  const [typed, setTyped] = useState('');
  const [search] = useDebouncedValue(typed.trim(), limits.searchPauseMs);
  const { data: found = [] } = useQuery(foundDevicesQuery(search));
  const { data: named = [] } = useQuery(namedDevicesQuery(chosen));
  const nameOf = (id: string) => [...named, ...found].find((device) => device.id === id)?.name || id;
  const toggle = (id: string) =>
    onChange(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  return (
    <Stack gap="xs">
      {chosen.length > 0 && (
        <Group gap={6}>
          {chosen.map((id) => (
            <Pill
              key={id}
              withRemoveButton
              onRemove={() => toggle(id)}
              removeButtonProps={{ 'aria-label': shared.takeAway(nameOf(id)), 'aria-hidden': false, tabIndex: 0 }}
            >
              {nameOf(id)}
            </Pill>
          ))}
        </Group>
      )}
      <TextInput
        type="search"
        data-autofocus
        aria-label={shared.findDevice}
        placeholder={shared.findDevice}
        leftSection={<Icon name="search" size={16} />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {/* As high with few as with many: what is below stays where it is while one searches. */}
      <ScrollArea h={220}>
        <Stack gap={10} py={4}>
          {found.map(({ id, name }) => (
            <Checkbox
              key={id}
              label={name || id}
              description={name === undefined || name === id ? undefined : id}
              checked={chosen.includes(id)}
              onChange={() => toggle(id)}
            />
          ))}
          {found.length === 0 && <Text c="dimmed">{shared.noDeviceFound}</Text>}
        </Stack>
      </ScrollArea>
    </Stack>
  );
}
