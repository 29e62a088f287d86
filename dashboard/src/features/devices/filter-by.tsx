// A filter whose value is typed: a chip that opens a field, and says what it filters by once there is something.
import { Autocomplete, Button, Chip, Popover } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Icon } from '../../shared/page/icon.tsx';
import { useStrings } from '../../strings/strings.ts';
import classes from './filter-by.module.css';

export interface FilterByProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  /** What may be meant; anything may be typed all the same. */
  readonly choices?: readonly string[];
}

export function FilterBy({ label, value, onChange, choices = [] }: FilterByProps) {
  const { devices } = useStrings();
  const [typed, setTyped] = useState<string>();
  if (value !== undefined) {
    return (
      <Chip size="sm" variant="outline" checked onChange={() => onChange(undefined)} className={classes.chosen}>
        {`${label} ${value}`}
      </Chip>
    );
  }
  const close = () => setTyped(undefined);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    close();
    onChange(typed?.trim() || undefined);
  };
  return (
    <Popover opened={typed !== undefined} onDismiss={close} position="bottom-start" trapFocus>
      <Popover.Target>
        <button
          type="button"
          className={classes.chip}
          onClick={() => setTyped(typed === undefined ? '' : undefined)}
          aria-expanded={typed !== undefined}
        >
          {label} <Icon name="down" size={14} />
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label={label}>
        <form onSubmit={submit} className={classes.form}>
          <Autocomplete
            data-autofocus
            aria-label={label}
            data={[...choices]}
            limit={8}
            value={typed ?? ''}
            onChange={setTyped}
            comboboxProps={{ withinPortal: false }}
          />
          <Button type="submit">{devices.filterSubmit}</Button>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}
