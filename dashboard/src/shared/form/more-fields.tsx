// Fields that a form can do without, behind a button: who only needs the first ones is not asked for more. Open by itself
// where the server has something to say of one of them.
import { Button, Stack } from '@mantine/core';
import { type ReactNode, useId, useState } from 'react';
import { useStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';

export interface MoreFieldsProps {
  /** Whether one of the fields has something wrong. */
  readonly isNeeded: boolean;
  readonly children: ReactNode;
}

export function MoreFields({ isNeeded, children }: MoreFieldsProps) {
  const { shared } = useStrings();
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  if (isNeeded && !isOpen) setOpen(true);
  return (
    <div>
      <Button
        variant="subtle"
        size="compact-sm"
        aria-expanded={isOpen}
        aria-controls={id}
        leftSection={<Icon name={isOpen ? 'up' : 'down'} size={14} />}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? shared.fewerFields : shared.moreFields}
      </Button>
      <Stack id={id} gap="md" mt={isOpen ? 'sm' : 0}>
        {isOpen && children}
      </Stack>
    </div>
  );
}
