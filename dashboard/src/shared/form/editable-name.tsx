// A name that is edited where it stands: a click (or Enter) makes it a field, Enter saves, Escape leaves it as it was.
import { ActionIcon, TextInput, Tooltip } from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { useStrings } from '../../strings/strings.ts';
import { Icon } from '../page/icon.tsx';
import classes from './editable-name.module.css';

export interface EditableNameProps {
  readonly name: string;
  /** Shown where there is no name. */
  readonly id: string;
  readonly mayEdit: boolean;
  readonly onSave: (name: string) => void;
}

export function EditableName({ name, id, mayEdit, onSave }: EditableNameProps) {
  const { shared } = useStrings();
  const [typed, setTyped] = useState<string>();
  if (typed === undefined) {
    return (
      <span className={classes.name}>
        <span className="d-clamp" title={name || id}>
          {name || id}
        </span>
        {mayEdit && (
          <Tooltip label={shared.rename}>
            <ActionIcon variant="subtle" color="gray" aria-label={shared.rename} onClick={() => setTyped(name)}>
              <Icon name="edit" size={16} />
            </ActionIcon>
          </Tooltip>
        )}
      </span>
    );
  }
  const save = () => {
    setTyped(undefined);
    if (typed.trim() !== name) onSave(typed.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') save();
    if (event.key === 'Escape') setTyped(undefined);
  };
  return (
    <TextInput
      autoFocus
      aria-label={shared.name}
      placeholder={id}
      maxLength={256}
      className={classes.field}
      value={typed}
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={save}
    />
  );
}
