// The dialogs in which an alarm is acknowledged, with a note, and assigned.
import { Stack, Text, Textarea } from '@mantine/core';
import { limits } from '../../limits.ts';
import { useStrings } from '../../strings/strings.ts';
import { UserInput } from '../account/user-input.tsx';
import { Dialog } from '../form/dialog.tsx';
import { FormButtons } from '../form/form-buttons.tsx';
import { useForm } from '../form/use-form.ts';
import { ProblemNotice } from '../page/problem-notice.tsx';
import type { AlarmActs } from './alarm-acts.ts';

interface AlarmDialogProps {
  /** What the alarm says. */
  readonly title: string;
  readonly acts: AlarmActs;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

interface AcknowledgeDialogProps extends Omit<AlarmDialogProps, 'acts'> {
  readonly acts: Pick<AlarmActs, 'acknowledge'>;
}

export function AcknowledgeDialog({ title, acts, isOpen, onClose }: AcknowledgeDialogProps) {
  const { now } = useStrings();
  const form = useForm({
    initial: { note: '' },
    submit: async ({ note }) => {
      await acts.acknowledge(note);
      onClose();
    },
  });
  return (
    <Dialog opened={isOpen} onClose={onClose} title={now.acknowledge}>
      <form onSubmit={form.onSubmit} noValidate>
        <Stack gap="md">
          <Text fz="sm">{title}</Text>
          <Textarea
            label={now.note}
            description={now.noteMeans}
            maxLength={limits.alarmNoteCharsMax}
            autosize
            minRows={2}
            data-autofocus
            {...form.field('note')}
          />
          {form.problem !== undefined && <ProblemNotice error={form.problem} />}
          <FormButtons submit={now.acknowledge} isSending={form.isSending} onCancel={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}

export function AssignDialog({ title, acts, isOpen, onClose }: AlarmDialogProps) {
  const { now, shared } = useStrings();
  const form = useForm({
    initial: { username: '' },
    submit: async ({ username }) => {
      await acts.assign(username.trim());
      onClose();
    },
  });
  const { onChange: _, ...field } = form.field('username');
  return (
    <Dialog opened={isOpen} onClose={onClose} title={now.assignTo}>
      <form onSubmit={form.onSubmit} noValidate>
        <Stack gap="md">
          <Text fz="sm">{title}</Text>
          <UserInput
            label={shared.name}
            description={now.assignMeans}
            data-autofocus
            // Above, so that it does not lie over the button.
            comboboxProps={{ position: 'top' }}
            {...field}
            onChange={(username) => form.set('username', username)}
          />
          {form.problem !== undefined && <ProblemNotice error={form.problem} />}
          <FormButtons submit={now.assign} isSending={form.isSending} onCancel={onClose} />
        </Stack>
      </form>
    </Dialog>
  );
}
