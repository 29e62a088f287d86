// Over many alarms: chips for their kind and who is on them, which stand in the address; and one press that acknowledges all
// that are shown and that nobody has seen to.
import { Button, Chip, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Alarm } from '../../api/alarms.ts';
import { useAcknowledgeAll } from '../../shared/alarm/alarm-acts.ts';
import { AcknowledgeDialog } from '../../shared/alarm/alarm-dialogs.tsx';
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
        {(['nobody', 'me'] as const).map((who) => (
          <Chip
            key={who}
            size="sm"
            variant="outline"
            checked={search.who === who}
            onChange={(isOn) => change({ who: isOn ? who : undefined })}
          >
            {now.who[who]}
          </Chip>
        ))}
        {alarmKinds.map((kind) => (
          <Chip
            key={kind}
            size="sm"
            variant="outline"
            checked={search.kind === kind}
            onChange={(isOn) => change({ kind: isOn ? kind : undefined })}
          >
            {now.kinds[kind]}
          </Chip>
        ))}
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
