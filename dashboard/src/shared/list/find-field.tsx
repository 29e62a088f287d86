// A field that finds by a part of a name; what is typed is handed on once typing rests.
import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { limits } from '../../limits.ts';
import { Icon } from '../page/icon.tsx';

interface FindFieldProps {
  readonly label: string;
  /** As it stands in the address. */
  readonly find: string | undefined;
  readonly onFind: (find: string | undefined) => void;
  readonly className?: string | undefined;
}

export function FindField({ label, find = '', onFind, className }: FindFieldProps) {
  const [typed, setTyped] = useState(find);
  const send = useDebouncedCallback(onFind, limits.searchPauseMs);
  // The address may change without the field: back, or a link.
  useEffect(() => setTyped(find), [find]);
  return (
    <TextInput
      type="search"
      className={className ?? ''}
      leftSection={<Icon name="search" size={16} />}
      placeholder={label}
      aria-label={label}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        send(event.currentTarget.value.trim() || undefined);
      }}
    />
  );
}
