// What strangers may do: three choices, each with a sentence of what it means. Admins are asked once on the first-run page, and
// find it again in their profile.
import { Button, Group, Radio, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { chooseGuestAccess, type GuestAccess } from '../../api/guest-access.ts';
import { usePageStrings } from '../../strings/strings.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';

export interface GuestAccessChoiceProps {
  readonly state: Schemas['GuestAccess'];
  /** The id of the heading that asks. */
  readonly labelledBy?: string;
}

const choices = ['full', 'push', 'none'] as const satisfies readonly GuestAccess[];

export function GuestAccessChoice({ state, labelledBy }: GuestAccessChoiceProps) {
  const { strangers } = usePageStrings();
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<GuestAccess>(state.guest_access);
  const [isSending, setIsSending] = useState(false);
  const [isKept, setIsKept] = useState(false);
  const [problem, setProblem] = useState<unknown>();
  const keep = async () => {
    setIsSending(true);
    setProblem(undefined);
    try {
      await chooseGuestAccess(queries, chosen);
      setIsKept(true);
    } catch (fault) {
      setProblem(fault);
    }
    setIsSending(false);
  };
  const choose = (value: string) => {
    setChosen(value as GuestAccess);
    setIsKept(false);
  };
  return (
    <Stack gap="md">
      <Radio.Group
        value={chosen}
        onChange={choose}
        {...(labelledBy === undefined ? { 'aria-label': strangers.title } : { 'aria-labelledby': labelledBy })}
      >
        <Stack gap="sm">
          {choices.map((value) => (
            <Radio
              key={value}
              value={value}
              label={strangers[value]}
              description={strangers[`${value}Means`]}
              disabled={state.fixed}
            />
          ))}
        </Stack>
      </Radio.Group>
      {problem !== undefined && <ProblemNotice error={problem} />}
      {state.fixed ? (
        <Text fz="sm" c="dimmed">
          {strangers.fixed}
        </Text>
      ) : (
        <Group gap="md">
          <Button onClick={() => void keep()} loading={isSending}>
            {strangers.save}
          </Button>
          <Text fz="sm" c="dimmed" role="status">
            {isKept && strangers.saved}
          </Text>
        </Group>
      )}
    </Stack>
  );
}
