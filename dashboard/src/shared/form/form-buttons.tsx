// The two buttons under a form in a dialog: away without a change, and the act.
import { Button, Group } from '@mantine/core';
import { useStrings } from '../../strings/strings.ts';

export interface FormButtonsProps {
  /** What the form does, in a word or two. */
  readonly submit: string;
  readonly isSending: boolean;
  readonly onCancel: () => void;
}

export function FormButtons({ submit, isSending, onCancel }: FormButtonsProps) {
  const { shared } = useStrings();
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        {shared.cancel}
      </Button>
      <Button type="submit" loading={isSending}>
        {submit}
      </Button>
    </Group>
  );
}
