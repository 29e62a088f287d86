// Over many alarms: chips for their kind and who is on them, which stand in the address; and one press that acknowledges all
// that are shown and that nobody has seen to.
import { Button, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Alarm } from '../../api/alarms.ts';
import { useAcknowledgeAll } from '../../shared/alarm/alarm-acts.ts';
import { AcknowledgeDialog } from '../../shared/alarm/alarm-dialogs.tsx';
import { ChoiceChips } from '../../shared/list/choice-chips.tsx';
import { useStrings } from '../../strings/strings.ts';
import { alarmKinds, type NowSearch } from './now-search.ts';

interface AlarmFiltersProps {
  readonly search: NowSearch;
  readonly alarms: readonly Alarm[];
}

export function AlarmFilters({ search, alarms }: AlarmFiltersProps) {
  const { now, devices } = useStrings();
  const navigate = useNavigate();
  const change = (changed: NowSearch) =>
    void navigate({ to: '/now', search: { ...search, ...changed }, replace: true });
  return (
    <Group justify="space-between" align="flex-start" mb="xs">
      <Group gap={6} role="group" aria-label={devices.filters}>
        <ChoiceChips
          choices={['nobody', 'me']}
          words={now.who}
          chosen={search.who}
          onChoose={(who) => change({ who })}
        />
        <ChoiceChips
          choices={alarmKinds}
          words={now.kinds}
          chosen={search.kind}
          onChoose={(kind) => change({ kind })}
        />
      </Group>
      <AcknowledgeAll alarms={alarms} />
    </Group>
  );
}

function AcknowledgeAll({ alarms }: { readonly alarms: readonly Alarm[] }) {
  const { now } = useStrings();
  const unseen = alarms.filter(({ acknowledged, state, may_update: may }) => {
    return acknowledged === undefined && state === 'active' && may;
  });
  // Those that were shown when it was pressed, not those that come while one types.
  const [asked, setAsked] = useState<readonly Alarm[]>([]);
  const acknowledge = useAcknowledgeAll(asked);
  const [isOpen, { open, close }] = useDisclosure(false);
  if (unseen.length < 2 && !isOpen) return null;
  return (
    <>
      <Button
        variant="default"
        size="sm"
        onClick={() => {
          setAsked(unseen);
          open();
        }}
      >
        {now.acknowledgeAll(unseen.length)}
      </Button>
      <AcknowledgeDialog title={now.open(asked.length)} acts={{ acknowledge }} isOpen={isOpen} onClose={close} />
    </>
  );
}
