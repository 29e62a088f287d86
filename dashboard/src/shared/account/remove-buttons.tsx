// The foot of the dialog that removes an account: where much goes with it, its name is typed first.
import { Button, Group, TextInput } from '@mantine/core';
import { usePageStrings } from '../../strings/strings.ts';
import type { FieldBinding } from '../form/use-form.ts';

export interface RemoveButtonsProps {
  readonly onClose: () => void;
  readonly isReady: boolean;
  readonly isSending: boolean;
  readonly typed: { readonly name: string; readonly field: FieldBinding } | undefined;
}

export function RemoveButtons({ onClose, isReady, isSending, typed }: RemoveButtonsProps) {
  const { shared, users } = usePageStrings();
  return (
    <>
      {typed !== undefined && (
        <TextInput label={shared.typeToConfirm(typed.name)} autoComplete="off" {...typed.field} />
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {shared.cancel}
        </Button>
        <Button type="submit" color="red" disabled={!isReady} loading={isSending}>
          {users.removeAction}
        </Button>
      </Group>
    </>
  );
}
